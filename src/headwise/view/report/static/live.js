// A run that goes on: the file on disk is written again and again. A page opened from disk cannot read files, but it
// can open the file a second time in a frame that is not shown; that copy only says when it was written and stops.


function watchForNewer() {
  const every = Math.max(2, page.live.every) * 1000;
  const text = document.getElementById("live-text"), auto = document.getElementById("live-auto");
  let frame = null, newer = false;
  auto.checked = remembered("headwise-live") === "yes";
  auto.addEventListener("change", () => { remember("headwise-live", auto.checked ? "yes" : "no"); if (auto.checked && newer) location.reload(); });
  document.getElementById("live-reload").addEventListener("click", () => location.reload());
  addEventListener("message", (event) => {
    const written = frame && event.source === frame.contentWindow && event.data ? event.data.headwise : undefined;
    if (written === undefined) return;
    frame.remove();
    frame = null;
    // A page without a time is the last one: the run is over.
    if (written !== null && !(written > page.live.written)) return;
    newer = true;
    text.textContent = written === null ? "The run is over: the finished page is there. Reload to see it." : "The run has gone on: a newer page is there. Reload to see it.";
    document.getElementById("live").classList.add("newer");
    if (auto.checked) location.reload();
  });
  setInterval(() => {
    if (newer || document.hidden) return;
    if (frame) frame.remove();
    frame = h("iframe", { hidden: true, title: "looks for a newer page", src: location.href.split("#")[0] });
    document.body.append(frame);
  }, every);
}
