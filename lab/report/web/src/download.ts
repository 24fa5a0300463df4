// The page contains its document, compressed. A button with the document's name downloads
// it.

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
