"""Pages loaded by Chromium from a server that speaks HTTP/2 and HTTP/3.

========== =======================================================================================
`page`     a page of a scenario as files: HTML of a size that names images
`envoy`    the server: Envoy's configuration for both protocols, and its access log
`chromium` the browser, through Playwright and the DevTools protocol
`har`      events of the DevTools protocol as HAR 1.2
`load`     one load as numbers, and its validation
`client`   all loads of a run, one after the other, and their report
`runner`   such a run in the kernel lane: `load_pages`
========== =======================================================================================
"""

from __future__ import annotations

from quiclab.lane.browser.load import LoadError, PageLoad

__all__ = ["LoadError", "PageLoad"]
