// Tables sort on a click on a column's heading: first down for numbers, up for texts, then around.
// Cells without a value stay at the end.
"use strict";
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.parentElement;
    const column = heading.cellIndex;
    const numeric = heading.classList.contains("number");
    const before = heading.getAttribute("aria-sort");
    const order = before === null
      ? (numeric ? "descending" : "ascending")
      : (before === "ascending" ? "descending" : "ascending");
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", order);
    const body = heading.closest("table").tBodies[0];
    const value = (row) => {
      const cell = row.cells[column];
      if (!numeric) return cell.dataset.value ?? cell.textContent;
      return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
    };
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (numeric ? x - y : x.localeCompare(y));
    });
    body.append(...rows);
  });
}
