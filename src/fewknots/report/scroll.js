// A table that is wider than its box says so: a hint above it and a shade at the edge beyond which
// there is more. Both go when that edge is reached.
for (const box of document.querySelectorAll(".scroll")) {
  const wide = box.closest(".wide");
  const look = () => {
    const beyond = box.scrollWidth - box.clientWidth;
    wide.classList.toggle("scrolls", beyond > 1);
    wide.classList.toggle("left", box.scrollLeft > 1);
    wide.classList.toggle("right", beyond - box.scrollLeft > 1);
  };
  box.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(box);
  look();
}
