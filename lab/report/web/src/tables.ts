// Tables that sort by a column. Go sets the initial order; the buttons in the headings
// change it.

export function sortable(table: HTMLTableElement): void {
  const heads = [...table.querySelectorAll<HTMLTableCellElement>("thead th")];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const h of heads) h.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(table, column, down);
    });
  });
}

function sort(table: HTMLTableElement, column: number, down: boolean): void {
  const body = table.tBodies[0];
  if (!body) return;
  const rows = [...body.rows].map((row) => ({ row, key: keyOf(row.cells[column]) }));
  rows.sort((a, b) => compare(a.key, b.key, down));
  body.append(...rows.map((r) => r.row));
}

type Key = number | string | null;

/** Returns the value by which a cell is sorted: its data-v as a number, else its text. */
function keyOf(cell: HTMLTableCellElement | undefined): Key {
  const v = cell?.dataset.v;
  if (v === undefined) return cell?.textContent ?? null;
  return v === "" ? null : Number(v);
}

/** Compares two cells. Cells without a value are last in both orders. */
function compare(a: Key, b: Key, down: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order =
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  return down ? -order : order;
}
