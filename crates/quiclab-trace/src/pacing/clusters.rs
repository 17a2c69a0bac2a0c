//! Clusters of intervals: around the intervals of a pacer, and at the peaks of the distribution.
//!
//! A peak is found in the density over the logarithm of the interval, in bins of 0.4 to 0.8 % (1.6 % of fewer than a
//! thousand intervals), smoothed with the binomial weights 1 4 6 4 1. Two peaks are distinct if the density between
//! them falls to half of the lower one, and by three standard deviations of its count (Poisson). A cluster ends
//! where the density falls below a twentieth of its peak; it counts if it has at least 1 % of the intervals.

use super::distribution::{Bin, Distribution};
use super::document::{Expected, Found};
use super::settings::{MILLISECOND_NS, Settings};

/// Fewer intervals than this use coarser bins.
const MANY: u64 = 1000;
const SHARE_MIN: f64 = 0.01;
const COUNT_MIN: u64 = 10;
/// Two peaks are distinct if the density between them is at most this share of the lower one.
const VALLEY: f64 = 0.5;
/// Number of standard deviations of that difference.
const DEVIATIONS: f64 = 3.0;
/// A cluster ends where the density falls below this share of its peak.
const EDGE: f64 = 0.05;

/// Shares of the intervals around frame size over rate and gain; empty without a rate or packets.
#[allow(clippy::cast_precision_loss)]
pub(super) fn expected(intervals: &Distribution, frame_bytes: f64, settings: &Settings) -> Vec<Expected> {
    let Some(rate_mbps) = settings.bottleneck_mbps.filter(|_| intervals.count() > 0) else {
        return Vec::new();
    };
    let around = |&gain: &f64| {
        let interval_ms = 8.0 * frame_bytes / 1e3 / rate_mbps / gain;
        let edges = [interval_ms - settings.window_ms, interval_ms + settings.window_ms];
        let inside = intervals.within(edges[0] * MILLISECOND_NS, edges[1] * MILLISECOND_NS);
        Expected {
            gain,
            interval_ms,
            share: inside.count as f64 / intervals.count() as f64,
            centre_ms: (inside.count > 0).then(|| inside.mean() / MILLISECOND_NS),
        }
    };
    settings.gains.iter().map(around).collect()
}

/// Peaks of the distribution, ascending.
#[allow(clippy::cast_precision_loss)]
pub(super) fn found(intervals: &Distribution) -> Vec<Found> {
    let bits = if intervals.count() < MANY { 7 } else { 8 };
    let density = Density::of(intervals, bits);
    let mut found: Vec<Found> =
        density.peaks().into_iter().map(|peak| density.cluster(&peak, intervals.count())).collect();
    found.retain(|cluster| {
        cluster.share >= SHARE_MIN && cluster.share * intervals.count() as f64 >= COUNT_MIN as f64
    });
    found
}

/// Density over the logarithm, in neighbouring bins.
struct Density {
    bins: Vec<Bin>,
    /// Lower end of each bin, and the upper end of the last.
    edges: Vec<u64>,
    /// Intervals by relative width, smoothed.
    smooth: Vec<f64>,
    /// Number of intervals that the density of a bin represents.
    weight: Vec<f64>,
}

/// A peak and the bins that belong to it.
struct Peak {
    top: usize,
    from: usize,
    to: usize,
}

impl Density {
    #[allow(clippy::cast_precision_loss)]
    fn of(intervals: &Distribution, bits: u32) -> Self {
        let filled = intervals.grouped(bits);
        let (Some(&(least, _)), Some(&(largest, _))) = (filled.first(), filled.last()) else {
            return Self { bins: Vec::new(), edges: Vec::new(), smooth: Vec::new(), weight: Vec::new() };
        };
        let first = Distribution::bin_of(least, bits);
        let count = (Distribution::bin_of(largest, bits) - first + 1) as usize;
        let mut bins = vec![Bin::default(); count];
        for (floor, bin) in filled {
            bins[(Distribution::bin_of(floor, bits) - first) as usize] = bin;
        }
        let edges: Vec<u64> =
            (0..=count).map(|index| Distribution::bin_floor(first + index as u32, bits)).collect();
        let relative = |index: usize| {
            let (low, high) = (edges[index] as f64, edges[index + 1] as f64);
            2.0 * (high - low) / (high + low)
        };
        let raw: Vec<f64> = (0..count).map(|index| bins[index].count as f64 / relative(index)).collect();
        let smooth: Vec<f64> = (0..count)
            .map(|index| {
                let at =
                    |offset: usize| (index + offset).checked_sub(2).and_then(|index| raw.get(index)).copied();
                let weights = [1.0, 4.0, 6.0, 4.0, 1.0];
                (0..5).map(|offset| weights[offset] * at(offset).unwrap_or(0.0)).sum::<f64>() / 16.0
            })
            .collect();
        // the variance of the smoothed count is 70/256 of the count: as if 3.7 bins were summed
        let weight = (0..count).map(|index| smooth[index] * relative(index) * 256.0 / 70.0).collect();
        Self { bins, edges, smooth, weight }
    }

    /// Peaks by persistence: bins are added in order of descending density, and regions grow until they meet.
    fn peaks(&self) -> Vec<Peak> {
        let mut order: Vec<usize> =
            (0..self.smooth.len()).filter(|&index| self.smooth[index] > 0.0).collect();
        order.sort_by(|&a, &b| self.smooth[b].total_cmp(&self.smooth[a]).then(a.cmp(&b)));
        let mut region: Vec<Option<usize>> = vec![None; self.smooth.len()];
        let mut peaks: Vec<Peak> = Vec::new();
        for index in order {
            let left = index.checked_sub(1).and_then(|index| region[index]);
            let right = region.get(index + 1).copied().flatten();
            let owner = match (left, right) {
                (None, None) => {
                    peaks.push(Peak { top: index, from: index, to: index });
                    peaks.len() - 1
                }
                (Some(owner), None) | (None, Some(owner)) => owner,
                (Some(left), Some(right)) => {
                    let (higher, lower) = if self.smooth[peaks[left].top] >= self.smooth[peaks[right].top] {
                        (left, right)
                    } else {
                        (right, left)
                    };
                    if left != right && !self.apart(peaks[lower].top, index) {
                        for owned in &mut region[peaks[lower].from..=peaks[lower].to] {
                            *owned = Some(higher);
                        }
                        let (from, to) = (peaks[lower].from, peaks[lower].to);
                        let kept = &mut peaks[higher];
                        (kept.from, kept.to) = (kept.from.min(from), kept.to.max(to));
                    }
                    higher
                }
            };
            region[index] = Some(owner);
            let peak = &mut peaks[owner];
            (peak.from, peak.to) = (peak.from.min(index), peak.to.max(index));
        }
        // merged peaks own no bins any more
        let mut own: Vec<usize> = region.into_iter().flatten().collect();
        own.dedup();
        let kept = |(number, peak)| own.contains(&number).then_some(peak);
        let mut peaks: Vec<Peak> = peaks.into_iter().enumerate().filter_map(kept).collect();
        peaks.sort_by_key(|peak| peak.top);
        peaks
    }

    /// Whether a peak stands out over the lowest density between it and a higher one.
    fn apart(&self, top: usize, valley: usize) -> bool {
        let fall = self.weight[top] - self.weight[valley];
        self.smooth[valley] <= VALLEY * self.smooth[top] && fall >= DEVIATIONS * self.weight[top].sqrt()
    }

    #[allow(clippy::cast_precision_loss)]
    fn cluster(&self, peak: &Peak, all: u64) -> Found {
        let reach = |least: f64| {
            let dense = |index: &usize| self.smooth[*index] >= least * self.smooth[peak.top];
            let from = (peak.from..peak.top).rev().take_while(dense).last().unwrap_or(peak.top);
            let to = (peak.top + 1..=peak.to).take_while(dense).last().unwrap_or(peak.top);
            from..=to
        };
        let sum = |range: std::ops::RangeInclusive<usize>| {
            self.bins[range]
                .iter()
                .fold(Bin::default(), |all, bin| Bin { count: all.count + bin.count, sum: all.sum + bin.sum })
        };
        let extent = reach(EDGE);
        let (from, to) = (self.edges[*extent.start()], self.edges[*extent.end() + 1]);
        let core = sum(reach(0.5));
        Found {
            centre_ms: core.mean() / MILLISECOND_NS,
            from_ms: from as f64 / MILLISECOND_NS,
            to_ms: to as f64 / MILLISECOND_NS,
            share: sum(extent).count as f64 / all as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = (u64, u64)>) -> Distribution {
        let mut all = Distribution::default();
        for (value, count) in values {
            (0..count).for_each(|_| all.add(value));
        }
        all
    }

    #[test]
    fn the_windows_of_a_gain_cycle() {
        // 1482 B at 10 Mbit/s: 1.1856 ms; over 1.25 0.94848 ms, over 0.75 1.5808 ms
        let settings =
            Settings { bottleneck_mbps: Some(10.0), gains: vec![1.25, 1.0, 0.75], ..Settings::default() };
        let all = of([(949_000, 156), (1_186_000, 750), (1_581_000, 94)]);
        let found = expected(&all, 1482.0, &settings);
        let shares: Vec<f64> = found.iter().map(|item| item.share).collect();
        assert_eq!(shares, [0.156, 0.75, 0.094]);
        assert!((found[0].interval_ms - 0.94848).abs() < 1e-12 && found[1].centre_ms == Some(1.186));
        assert_eq!(expected(&all, 1482.0, &Settings::default()), []);
        assert_eq!(expected(&Distribution::default(), 1482.0, &settings), []);
        // the window is 1.0856 to 1.2856; the next bin (256 ns) is outside
        let edge = expected(&of([(1_285_000, 1), (1_286_000, 1)]), 1482.0, &settings);
        assert!((edge[1].share - 0.5).abs() < 1e-12);
    }

    #[test]
    fn three_clusters_a_few_percent_apart_are_three() {
        // 114, 120.5, 125 us, each 1 us wide
        let near = |centre: u64, count: u64| (0..10).map(move |step| (centre - 500 + 100 * step, count / 10));
        let all = of(near(114_000, 3000).chain(near(120_500, 4000)).chain(near(125_000, 3000)));
        let found = found(&all);
        assert_eq!(found.len(), 3, "{found:?}");
        for (cluster, (centre_ms, share)) in found.iter().zip([(0.114, 0.3), (0.1205, 0.4), (0.125, 0.3)]) {
            assert!((cluster.centre_ms / centre_ms - 1.0).abs() < 0.01, "{cluster:?}");
            assert!((cluster.share - share).abs() < 0.01, "{cluster:?}");
        }
    }

    #[test]
    fn one_broad_hump_is_one_and_sparse_noise_is_none() {
        // a triangle from 1.0 to 1.4 ms
        let hump = (0..400).map(|step: u64| (1_000_000 + 1000 * step, 200 - step.abs_diff(200)));
        let found_hump = found(&of(hump));
        assert_eq!(found_hump.len(), 1, "{found_hump:?}");
        assert!((found_hump[0].centre_ms - 1.2).abs() < 0.012 && found_hump[0].share > 0.98);
        // 200 values, each once, a tenth apart from each other: no ten of them gather
        let mut value = 1000.0_f64;
        let sparse = (0..200).map(|_| {
            value *= 1.1;
            (value as u64, 1)
        });
        assert_eq!(found(&of(sparse)), []);
        assert_eq!(found(&Distribution::default()), []);
    }

    #[test]
    fn pairs_have_a_cluster_at_line_rate() {
        let found = found(&of([(1_211, 500), (2_422_400, 500)]));
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].centre_ms, found[0].share), (0.001_211, 0.5));
        assert_eq!((found[1].centre_ms, found[1].share), (2.4224, 0.5));
    }
}
