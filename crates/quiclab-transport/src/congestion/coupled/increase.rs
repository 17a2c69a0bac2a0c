//! Growth of a window per acknowledged packet, in packets; the formulas are in the module above.

use super::PathView;

/// RTT assumed for a path without a sample: it has no weight then, and avoids a division by zero.
const NO_SAMPLE: f64 = 1e9;

struct Terms {
    /// Window in packets.
    window: f64,
    /// Smoothed RTT in seconds.
    rtt: f64,
}

fn terms(path: &PathView, mss: f64) -> Terms {
    let rtt = path.srtt.map_or(NO_SAMPLE, |rtt| rtt.as_secs_f64().max(1e-6));
    Terms { window: (path.window as f64 / mss).max(1.0), rtt }
}

fn rate_sum(paths: &[PathView], mss: f64) -> f64 {
    paths.iter().map(|path| terms(path, mss)).map(|term| term.window / term.rtt).sum()
}

/// Increase of LIA (RFC 6356 section 3).
pub(super) fn lia(paths: &[PathView], own: usize, mss: f64) -> f64 {
    let total: f64 = paths.iter().map(|path| terms(path, mss).window).sum();
    let best = paths.iter().map(|path| terms(path, mss)).map(|term| term.window / (term.rtt * term.rtt));
    let sum = rate_sum(paths, mss);
    let alpha = total * best.fold(0.0, f64::max) / (sum * sum);
    (alpha / total).min(1.0 / terms(&paths[own], mss).window)
}

/// Increase of OLIA (draft-khalili-mptcp-congestion-control-05 section 2).
pub(super) fn olia(paths: &[PathView], own: usize, mss: f64) -> f64 {
    let term = terms(&paths[own], mss);
    let sum = rate_sum(paths, mss);
    let first = term.window / (term.rtt * term.rtt) / (sum * sum);
    first + olia_alpha(paths, own, mss) / term.window
}

/// Moves windows from the paths with the largest ones to the best paths that do not have them.
fn olia_alpha(paths: &[PathView], own: usize, mss: f64) -> f64 {
    // l² / rtt: quality of a path; l are bytes between losses
    let quality = |path: &PathView| {
        let apart = path.losses_apart as f64;
        apart * apart / terms(path, mss).rtt
    };
    let best = paths.iter().map(quality).fold(0.0, f64::max);
    let largest = paths.iter().map(|path| path.window).max().unwrap_or(0);
    let is_best = |path: &PathView| quality(path) >= best;
    let is_largest = |path: &PathView| path.window == largest;
    let collected = paths.iter().filter(|path| is_best(path) && !is_largest(path)).count();
    let all = paths.len() as f64;
    let path = &paths[own];
    if collected == 0 {
        0.0
    } else if is_best(path) && !is_largest(path) {
        1.0 / (all * collected as f64)
    } else if is_largest(path) {
        -1.0 / (all * paths.iter().filter(|path| is_largest(path)).count() as f64)
    } else {
        0.0
    }
}

/// Ratio of the rate of the fastest path to that of this one.
fn balia_ratio(paths: &[PathView], own: usize, mss: f64) -> f64 {
    let rate = |path: &PathView| {
        let term = terms(path, mss);
        term.window / term.rtt
    };
    let own_rate = rate(&paths[own]);
    paths.iter().map(rate).fold(own_rate, f64::max) / own_rate
}

/// Increase of BALIA (draft-walid-mptcp-congestion-control-04 section 3).
pub(super) fn balia(paths: &[PathView], own: usize, mss: f64) -> f64 {
    let term = terms(&paths[own], mss);
    let sum = rate_sum(paths, mss);
    let alpha = balia_ratio(paths, own, mss);
    let x = term.window / term.rtt;
    x / (term.rtt * sum * sum) * ((1.0 + alpha) / 2.0) * ((4.0 + alpha) / 5.0)
}

/// Reduction of the window at a loss.
pub(super) fn balia_decrease(paths: &[PathView], own: usize) -> f64 {
    let alpha = if own < paths.len() { balia_ratio(paths, own, 1.0) } else { 1.0 };
    0.5 * alpha.min(1.5)
}
