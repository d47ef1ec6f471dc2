// The confusion matrix follows its slider. All counts come with the page (decisions.py); here they
// are only looked up.
for (const box of document.querySelectorAll("[data-thresholds]")) {
  const list = (name) => box.dataset[name].split(" ");
  const thresholds = list("thresholds");
  const hits = list("hits").map(Number);
  const alarms = list("alarms").map(Number);
  const positives = Number(box.dataset.positives);
  const negatives = Number(box.dataset.negatives);
  const slider = box.querySelector("input");
  const write = (kind, values) => {
    for (const [name, value] of Object.entries(values)) {
      box.querySelector(`[data-${kind}="${name}"]`).textContent = value;
    }
  };
  const share = (part, all) => {
    if (all === 0) return "–";
    const value = part / all;
    return `${(100 * value).toFixed(value > 0 && value < 0.9995 ? 1 : 0)}\u00a0%`;
  };
  const show = () => {
    const at = slider.valueAsNumber;
    const called = hits[at] + alarms[at];
    const right = hits[at] + negatives - alarms[at];
    const counts = {
      hits: hits[at], misses: positives - hits[at],
      alarms: alarms[at], rejections: negatives - alarms[at],
      called, others: positives + negatives - called,
    };
    for (const name of Object.keys(counts)) counts[name] = counts[name].toLocaleString("en");
    write("count", counts);
    write("share", {
      precision: share(hits[at], called), recall: share(hits[at], positives),
      accuracy: share(right, positives + negatives), called: share(called, positives + negatives),
    });
    box.querySelector("output").textContent = thresholds[at];
    slider.setAttribute("aria-valuetext", thresholds[at]);
  };
  slider.parentElement.hidden = false;
  slider.addEventListener("input", show);
  show(); // a browser that goes back sets the slider to where it was
}
