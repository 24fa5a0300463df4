// The file that the page was made of is in it, compressed; a button that bears its name
// hands it out.

import { data } from "./view";

export function download(button: HTMLButtonElement): void {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const packed = Uint8Array.from(atob(data<string>("results")), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const bytes = await new Response(stream).arrayBuffer();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes], { type: "application/json" }));
    link.download = button.textContent ?? "";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  });
}
