// The data of the page, as lab/report/view.go writes it.

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
  heap?: (number | null)[];
  gc?: (number | null)[];
  sched?: (number | null)[];
}

export interface HeatMap {
  first: number;
  edges: string[];
  max: number;
  subjects: { subject: number; columns: number[][] }[];
}

/** Reads the JSON of a data element of the page. */
export function data<T>(id: string): T {
  const text = document.getElementById(id)?.textContent;
  if (!text) throw new Error(`the page has no data "${id}"`);
  return JSON.parse(text) as T;
}
