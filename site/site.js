// WCAG 2.2, 2.1.1: tables wider than the page are scrolled by keyboard, too.
addEventListener("load", () => {
  for (const region of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
  }
});
