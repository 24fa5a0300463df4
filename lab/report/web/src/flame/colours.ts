// The colours of a flame graph. Whose code a function is has a hue of Okabe and Ito's, on which
// text has a contrast of more than 4.5:1. A difference goes from blue (less) to red (more) through
// grey, as ColorBrewer's RdBu, which readers with colour blindness can tell apart.

import { current } from "../theme";

type RGB = [number, number, number];

/** By origin: unknown, user code, library, standard library, runtime, kernel. */
const light: RGB[] = [[222, 219, 211], [244, 168, 92], [126, 190, 232], [128, 205, 170], [226, 211, 120], [214, 172, 205]];
const dark: RGB[] = [[74, 71, 66], [150, 76, 16], [24, 88, 136], [10, 100, 72], [106, 90, 14], [112, 62, 104]];

const red: Record<"light" | "dark", RGB> = { light: [214, 96, 77], dark: [178, 44, 50] };
const blue: Record<"light" | "dark", RGB> = { light: [98, 160, 208], dark: [38, 98, 166] };
const grey: Record<"light" | "dark", RGB> = { light: [236, 233, 226], dark: [58, 55, 50] };

export interface Colours {
  ink: string;
  paper: string;
  soft: string;
  mark: string;
  edge: string;
  origin(origin: number, symbol: number): string;
  change(part: number): string;
}

const css = ([r, g, b]: RGB) => `rgb(${Math.round(r)} ${Math.round(g)} ${Math.round(b)})`;
const mix = (a: RGB, b: RGB, part: number) => a.map((v, i) => v + (b[i]! - v) * part) as RGB;

export function colours(): Colours {
  const theme = current();
  const name = theme.dark ? "dark" : "light";
  const table = theme.dark ? dark : light;
  const paper: RGB = theme.dark ? [23, 22, 20] : [253, 252, 249];
  return {
    ink: theme.dark ? "#f3efe8" : "#1c1b19",
    paper: theme.paper,
    soft: theme.soft,
    mark: theme.dark ? "#ff5cf0" : "#a000c8",
    edge: theme.paper,
    // Neighbours of one origin differ a little.
    origin: (origin, symbol) => css(mix(table[origin] ?? table[0]!, paper, ((symbol * 7) % 5) * 0.055)),
    change: (part) => css(mix(grey[name], part > 0 ? red[name] : blue[name], Math.min(1, Math.abs(part)))),
  };
}
