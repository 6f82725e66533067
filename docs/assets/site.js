// A wide table scrolls inside its own frame; the keyboard must be able to reach that frame.
function reachable() {
  for (const frame of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    frame.tabIndex = 0;
  }
}
new MutationObserver(reachable).observe(document.documentElement, { childList: true, subtree: true });
reachable();
