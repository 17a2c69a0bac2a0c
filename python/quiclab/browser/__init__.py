"""Pages loaded by real programs: Chromium, curl or quinn's client, from a server that speaks HTTP/2 and HTTP/3.

========== =======================================================================================
`page`     a page of a scenario as files: HTML of a size that names images
`envoy`    the server: Envoy's configuration for both protocols, and what its access log says
`chromium` the browser, through Playwright and the DevTools protocol
`curl`     curl, and quinn's client: an object after the other, or all at once
`har`      events of the DevTools protocol as HAR 1.2
`load`     one load as numbers, and whether it is what it says it is
`client`   all loads of a run, one after the other, and their report
`runner`   such a run in the kernel lane: `load_pages`
========== =======================================================================================
"""

from __future__ import annotations

from quiclab.browser.load import LoadError, PageLoad

__all__ = ["LoadError", "PageLoad"]
