// The data of a comparison's page, which lab/report/view.go writes.

export interface View {
  subjects: Subject[];
  workloads: Workload[];
}

export interface Subject {
  name: string;
  role: string;
}

export interface Workload {
  unit: string;
  bars: Bar[];
  limit: number | null;
  curves: Curve[];
  grid: Grid;
  lines: Lines[];
  heat: HeatMap;
}

export interface Bar {
  subject: number;
  value: number;
  low: number;
  high: number;
  text: string;
  note: string;
}

export interface Curve {
  subject: number;
  points: [number, number][];
  cut: number;
}

export interface Grid {
  step: number;
  per_block: number;
  blocks: number[];
}

export interface Lines {
  subject: number;
  rate: (number | null)[];
  rss: (number | null)[];
  goroutines?: (number | null)[];
}

/** The rows and the scale of a heat map. */
export interface Rows {
  first: number;
  edges: string[];
  max: number;
}

export interface HeatMap extends Rows {
  subjects: { subject: number; columns: number[][] }[];
}

/** Reads the JSON of a data element of the page. */
export function data<T>(id: string): T {
  const text = document.getElementById(id)?.textContent;
  if (!text) throw new Error(`the page has no data "${id}"`);
  return JSON.parse(text) as T;
}

/** Returns the first element that a selector matches; throws if there is none. */
export function find<T extends Element>(root: ParentNode, selector: string): T {
  const element = root.querySelector<T>(selector);
  if (!element) throw new Error(`the page has no ${selector}`);
  return element;
}
