// Draws the page of a profile: search, zoom, keyboard, touch. Go has calculated the tree.

import { sortable } from "../tables";
import { watch } from "../theme";
import { data, find } from "../view";
import { percent } from "./amount";
import { colours } from "./colours";
import { Painter, type State, row } from "./paint";
import { Sandwich, largest } from "./sandwich";
import { type Tree, type View, matched, unpack } from "./tree";
import { Times } from "./times";
import { linesOf, nameOf } from "./words";

const view = data<View>("view");
const graph = find<HTMLElement>(document, "#graph");
const space = find<HTMLElement>(graph, ".space");
const canvas = find<HTMLCanvasElement>(graph, "canvas");
const card = find<HTMLElement>(document, "#card");
const where = find<HTMLElement>(document, "#where");
const search = find<HTMLInputElement>(document, "#search");
const output = find<HTMLOutputElement>(document, "#matched");
const turn = find<HTMLButtonElement>(document, "#turn");
const toggle = find<HTMLButtonElement>(document, "#sandwich");
const both = find<HTMLElement>(document, "#both");
const strip = document.querySelector<HTMLCanvasElement>("#strip"); // absent: when stacks ran is unknown

document.querySelectorAll<HTMLTableElement>("table.sortable").forEach(sortable);
unpack(data<string>("results"), view).then(start);

function start(tree: Tree): void {
  const state: State = { zoom: 0, picked: -1, hits: null, below: false };
  const painter = new Painter(canvas, tree, view);
  const most = () => Math.min((tree.deepest + 1) * row, Math.max(240, innerHeight * 0.78));

  let due = false;
  const draw = () => {
    due = false;
    painter.draw(state, graph.scrollTop, graph.clientWidth, graph.clientHeight);
  };
  const redraw = () => {
    if (!due) requestAnimationFrame(draw);
    due = true;
  };
  const resize = () => {
    graph.style.height = `${most()}px`;
    space.style.height = `${(tree.deepest + 1) * row}px`;
    canvas.style.width = `${graph.clientWidth}px`;
    canvas.style.height = `${graph.clientHeight}px`;
    redraw();
  };

  const say = () => {
    const node = state.picked >= 0 ? state.picked : state.zoom;
    where.textContent = `${nameOf(tree, node)}: ${linesOf(tree, view, node).map((l) => `${l.name} ${l.text}`).join("; ")}`;
    times?.draw();
  };
  /** Scrolls until a node is visible. */
  const show = (node: number) => {
    const top = painter.top(tree.depth[node]!, state);
    if (top < graph.scrollTop) graph.scrollTop = top;
    else if (top + row > graph.scrollTop + graph.clientHeight) graph.scrollTop = top + row - graph.clientHeight;
  };
  const zoom = (node: number) => {
    state.zoom = node;
    card.hidden = true;
    show(node);
    say();
    redraw();
  };
  const pick = (node: number) => {
    if (node < 0 || node >= tree.size) return;
    state.picked = node;
    const box = painter.place(node, state, graph.clientWidth);
    if (box.width < 1 || box.x + box.width < 0 || box.x > graph.clientWidth) state.zoom = tree.parents[node]!;
    show(node);
    say();
    redraw();
  };

  const narrowed = () => {
    if (!tree.weight[state.zoom]) state.zoom = 0;
    sandwich.again();
    say();
    redraw();
  };
  const times = strip && new Times(strip, find(document, "#when"), tree, view, state, narrowed);
  watch(find(document, "#theme"), () => {
    times?.recolor();
    painter.recolor();
    sandwich.recolor();
    legend();
    redraw();
  });
  turn.addEventListener("click", () => {
    state.below = !state.below;
    turn.textContent = state.below ? "Root above" : "Root below";
    graph.scrollTop = state.below ? space.offsetHeight : 0;
    redraw();
  });
  find<HTMLButtonElement>(document, "#reset").addEventListener("click", () => {
    search.value = "";
    seek(tree, state);
    state.picked = -1;
    times?.all();
    zoom(0);
  });
  const sandwich = new Sandwich(both, tree, view, (of, node, x, y) => hint(of, node, x, y));
  /** Shows callers and callees of a function, or again the whole graph. */
  const choose = (symbol: number) => {
    const on = symbol >= 0;
    toggle.setAttribute("aria-pressed", String(on));
    toggle.textContent = on ? "Whole graph" : "Callers and callees";
    graph.hidden = where.hidden = on;
    both.hidden = !on;
    card.hidden = true;
    if (on) sandwich.show(symbol);
    else resize();
  };
  toggle.addEventListener("click", () => {
    const symbol = tree.symbols[state.picked >= 0 ? state.picked : state.zoom]!;
    choose(both.hidden ? (symbol >= 0 ? symbol : largest(tree)) : -1);
  });
  document.querySelectorAll<HTMLElement>("td.name").forEach((cell) => {
    const symbol = tree.names.indexOf(cell.textContent ?? "");
    if (symbol < 0) return;
    cell.title = "Show callers and callees";
    cell.addEventListener("click", () => {
      choose(symbol);
      both.scrollIntoView({ block: "nearest" });
    });
  });
  search.addEventListener("input", () => {
    seek(tree, state);
    times?.draw();
    redraw();
  });
  search.form?.addEventListener("submit", (e) => e.preventDefault());
  new ResizeObserver(resize).observe(graph);
  graph.addEventListener("scroll", () => {
    card.hidden = true;
    redraw();
  });
  pointer(tree, state, painter, zoom, redraw);
  keys(tree, state, pick, zoom, () => turn.click(), () => toggle.click());
  legend();
  resize();
  draw();
  say();
  document.documentElement.dataset.ready = "";
}

/** Marks the functions that the search finds. A text that is no regular expression is searched as it is. */
function seek(tree: Tree, state: State): void {
  const text = search.value.trim();
  if (!text) {
    state.hits = null;
    output.textContent = "";
    return;
  }
  let matches: (name: string) => boolean;
  try {
    const pattern = new RegExp(text, "i");
    matches = (name) => pattern.test(name);
  } catch {
    matches = (name) => name.toLowerCase().includes(text.toLowerCase());
  }
  state.hits = Uint8Array.from(tree.names, (name) => (matches(name) ? 1 : 0));
  const found = state.hits.reduce((a, b) => a + b, 0);
  output.textContent = `${found} function${found === 1 ? "" : "s"}, ${percent(matched(tree, state.hits))}`;
}

function pointer(tree: Tree, state: State, painter: Painter, zoom: (node: number) => void, redraw: () => void): void {
  const nodeAt = (e: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return painter.at(e.clientX - box.left, e.clientY - box.top + graph.scrollTop, state);
  };
  canvas.addEventListener("pointermove", (e) => {
    if (e.pointerType === "touch") return;
    const node = nodeAt(e);
    canvas.style.cursor = node < 0 ? "default" : "pointer";
    hint(tree, node, e.clientX, e.clientY);
  });
  canvas.addEventListener("pointerleave", () => (card.hidden = true));
  canvas.addEventListener("click", (e) => {
    const node = nodeAt(e);
    if (node < 0) return;
    state.picked = node;
    // A tap on the node that is shown already goes back to its caller.
    zoom(node === state.zoom && node > 0 ? tree.parents[node]! : node);
    redraw();
  });
}

/** Shows the figures of a node beside the pointer. */
function hint(tree: Tree, node: number, x: number, y: number): void {
  card.hidden = node < 0;
  if (node < 0) return;
  const head = document.createElement("div");
  head.className = "card-head";
  head.textContent = nameOf(tree, node);
  const rows = linesOf(tree, view, node).map((l) => {
    const line = document.createElement("div");
    line.className = "card-row";
    const value = document.createElement("b");
    value.textContent = l.text;
    line.append(l.name, value);
    return line;
  });
  card.replaceChildren(head, ...rows);
  const left = x + 16 + card.offsetWidth > innerWidth ? x - card.offsetWidth - 12 : x + 16;
  const top = y + 16 + card.offsetHeight > innerHeight ? y - card.offsetHeight - 12 : y + 16;
  card.style.left = `${Math.max(4, left)}px`;
  card.style.top = `${Math.max(4, top)}px`;
}

function keys(tree: Tree, state: State, pick: (node: number) => void, zoom: (node: number) => void, turned: () => void, toggled: () => void): void {
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.altKey || e.metaKey || e.target === search) {
      if (e.key === "Escape" && e.target === search) canvas.focus();
      return;
    }
    if (e.key === "/") {
      e.preventDefault();
      search.focus();
    } else if (e.key === "i") turned();
    else if (e.key === "s") toggled();
  });
  canvas.addEventListener("keydown", (e) => {
    const at = state.picked >= 0 ? state.picked : state.zoom;
    const inward = state.below ? "ArrowUp" : "ArrowDown";
    const outward = state.below ? "ArrowDown" : "ArrowUp";
    if (e.key === inward) pick(tree.ends[at]! > at + 1 ? at + 1 : at);
    else if (e.key === outward) pick(at > 0 ? tree.parents[at]! : 0);
    else if (e.key === "ArrowRight") pick(sibling(tree, at, 1));
    else if (e.key === "ArrowLeft") pick(sibling(tree, at, -1));
    else if (e.key === "Enter" || e.key === " ") zoom(at);
    else if (e.key === "Escape") zoom(state.zoom > 0 ? tree.parents[state.zoom]! : 0);
    else if (e.key === "Home") pick(0);
    else return;
    e.preventDefault();
  });
}

/** Returns the next or the previous node with the same caller, or the node itself. */
function sibling(tree: Tree, node: number, step: number): number {
  if (node === 0) return 0;
  const parent = tree.parents[node]!;
  if (step > 0) return tree.ends[node]! < tree.ends[parent]! ? tree.ends[node]! : node;
  let last = node;
  for (let i = parent + 1; i < node; i = tree.ends[i]!) last = i;
  return last;
}

/** Explains the colours. */
function legend(): void {
  const list = find<HTMLElement>(document, "#legend");
  const c = colours();
  const entry = (colour: string, text: string) => {
    const item = document.createElement("li");
    const patch = document.createElement("i");
    patch.style.background = colour;
    item.append(patch, text);
    return item;
  };
  if (view.diff) {
    const words = view.each ? "a request" : "of the total";
    list.replaceChildren(entry(c.change(-1), `▼ less ${words}`), entry(c.change(0), "unchanged"), entry(c.change(1), `▲ more ${words}`));
    return;
  }
  list.replaceChildren(...view.origins.flatMap((name, i) => (view.used[i] ? [entry(c.origin(i, 0), name)] : [])));
}

