//! Selection of the points that are shown where there are too many.
//!
//! Time is divided into buckets of equal width, so that a burst does not displace all other points.
//! [`DownsampledPoints`] keeps evenly spaced points of each bucket: when a bucket is full, every second point is
//! removed, and from then on the spacing is twice as large. [`Extremes`] keeps the minimum, the maximum and the last
//! value of each metric in each bucket, so that no spike is lost and steps end at the right time.

/// Time range of the events, found by the first pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) from_ms: f64,
    pub(super) to_ms: f64,
}

impl Span {
    /// Index of the bucket, out of `count`, that contains this instant.
    fn bucket(self, time_ms: f64, count: usize) -> usize {
        let width = self.to_ms - self.from_ms;
        if width <= 0.0 {
            return 0;
        }
        // a cast from float saturates; no event is outside the span, and a wrong bucket would do no harm
        (((time_ms - self.from_ms) / width * count as f64) as usize).min(count - 1)
    }
}

/// Maximum number of points of a bucket; a bucket that was thinned has at least half as many.
const BUCKET_POINTS: usize = 8;

/// A bounded number of points, evenly spaced in each bucket.
pub(super) struct DownsampledPoints<T> {
    span: Span,
    quota: usize,
    buckets: Vec<Bucket<T>>,
    total: u64,
}

struct Bucket<T> {
    seen: u64,
    stride: u64,
    kept: Vec<T>,
}

impl<T> DownsampledPoints<T> {
    /// Creates a selection of at most `max` of `expected` points.
    pub(super) fn new(span: Span, expected: u64, max: usize) -> Self {
        let all = expected <= max as u64;
        let (count, quota) = if all { (1, max) } else { ((max / BUCKET_POINTS).max(1), BUCKET_POINTS) };
        let bucket = || Bucket { seen: 0, stride: 1, kept: Vec::new() };
        Self { span, quota, buckets: (0..count).map(|_| bucket()).collect(), total: 0 }
    }

    pub(super) fn push(&mut self, time_ms: f64, point: T) {
        self.total += 1;
        let index = self.span.bucket(time_ms, self.buckets.len());
        let bucket = &mut self.buckets[index];
        if bucket.seen.is_multiple_of(bucket.stride) && bucket.kept.len() == self.quota {
            let mut index = 0;
            bucket.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            bucket.stride *= 2;
        }
        if bucket.seen.is_multiple_of(bucket.stride) {
            bucket.kept.push(point);
        }
        bucket.seen += 1;
    }

    /// Number of points that were added.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Selected points, bucket by bucket.
    pub(super) fn into_points(self) -> Vec<T> {
        self.buckets.into_iter().flat_map(|bucket| bucket.kept).collect()
    }
}

/// A row of metrics; NaN where the event has no value.
pub(super) struct Row<const METRICS: usize> {
    pub(super) time_ms: f64,
    pub(super) values: [f64; METRICS],
}

#[derive(Clone, Copy)]
struct Cell {
    /// Number of the row, to join the values of one row.
    row: u64,
    time_ms: f64,
    value: f64,
}

/// Rows of metrics: all of them, or extremes.
pub(super) struct Extremes<const METRICS: usize> {
    span: Span,
    /// Minimum, maximum and last value by bucket and metric; empty if all rows are kept.
    buckets: Vec<[Option<[Cell; 3]>; METRICS]>,
    rows: Vec<Row<METRICS>>,
    total: u64,
}

impl<const METRICS: usize> Extremes<METRICS> {
    /// Creates a selection of about `max` of `expected` rows.
    pub(super) fn new(span: Span, expected: u64, max: usize) -> Self {
        let count = if expected <= max as u64 { 0 } else { (max / (3 * METRICS)).max(1) };
        Self { span, buckets: vec![[None; METRICS]; count], rows: Vec::new(), total: 0 }
    }

    pub(super) fn push(&mut self, row: Row<METRICS>) {
        self.total += 1;
        if self.buckets.is_empty() {
            self.rows.push(row);
            return;
        }
        let index = self.span.bucket(row.time_ms, self.buckets.len());
        for (kept, value) in self.buckets[index].iter_mut().zip(row.values) {
            if value.is_nan() {
                continue;
            }
            let cell = Cell { row: self.total, time_ms: row.time_ms, value };
            let [least, greatest, last] = kept.get_or_insert([cell; 3]);
            if value < least.value {
                *least = cell;
            }
            if value > greatest.value {
                *greatest = cell;
            }
            *last = cell;
        }
    }

    /// Number of rows that were added.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Selected rows, in the order in which they were added.
    pub(super) fn into_rows(self) -> Vec<Row<METRICS>> {
        if self.buckets.is_empty() {
            return self.rows;
        }
        let mut cells: Vec<(Cell, usize)> = Vec::new();
        for bucket in self.buckets {
            for (metric, kept) in bucket.into_iter().enumerate() {
                cells.extend(kept.into_iter().flatten().map(|cell| (cell, metric)));
            }
        }
        cells.sort_by_key(|(cell, metric)| (cell.row, *metric));
        let mut rows: Vec<Row<METRICS>> = Vec::new();
        let mut last = 0;
        for (cell, metric) in cells {
            if cell.row != last {
                rows.push(Row { time_ms: cell.time_ms, values: [f64::NAN; METRICS] });
                last = cell.row;
            }
            rows.last_mut().expect("rows count from 1").values[metric] = cell.value;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPAN: Span = Span { from_ms: 0.0, to_ms: 100.0 };

    #[test]
    fn all_is_kept_where_it_fits() {
        let mut points = DownsampledPoints::new(SPAN, 10, 10);
        (0..10).for_each(|index| points.push(f64::from(index), index));
        assert_eq!(points.into_points(), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_bucket_is_thinned_evenly() {
        // 16 points are two buckets of 8; the first gets 20 points, so every fourth: 0, 4, ... 16
        let mut points = DownsampledPoints::new(SPAN, 23, 16);
        (0..20).for_each(|index| points.push(10.0, index));
        (20..23).for_each(|index| points.push(90.0, index));
        assert_eq!(points.total(), 23);
        assert_eq!(points.into_points(), [0, 4, 8, 12, 16, 20, 21, 22]);
    }

    #[test]
    fn extremes_of_each_metric() {
        // 6 points for two metrics are one bucket
        let mut rows = Extremes::<2>::new(SPAN, 7, 6);
        for (time, a, b) in [
            (1.0, 5.0, f64::NAN),
            (2.0, 9.0, 1.0),
            (3.0, 2.0, 1.0),
            (4.0, 4.0, f64::NAN),
            (5.0, 5.0, f64::NAN),
            (6.0, 4.5, f64::NAN),
            (7.0, f64::NAN, 1.0),
        ] {
            rows.push(Row { time_ms: time, values: [a, b] });
        }
        let kept: Vec<_> =
            rows.into_rows().iter().map(|row| (row.time_ms, format!("{:?}", row.values))).collect();
        let expected = [(2.0, "[9.0, 1.0]"), (3.0, "[2.0, NaN]"), (6.0, "[4.5, NaN]"), (7.0, "[NaN, 1.0]")];
        assert_eq!(kept, expected.map(|(time, values)| (time, values.to_owned())));
    }

    proptest! {
        /// Never more points than requested; at least one from each bucket; no point twice.
        #[test]
        fn a_bound_is_a_bound(times in proptest::collection::vec(0.0..100.0_f64, 1..400), max in 8..80_usize) {
            let mut points = DownsampledPoints::new(SPAN, times.len() as u64, max);
            for (index, &time) in times.iter().enumerate() {
                points.push(time, (time, index));
            }
            let buckets = points.buckets.len();
            let kept = points.into_points();
            prop_assert!(kept.len() <= max);
            let mut indices: Vec<usize> = kept.iter().map(|point| point.1).collect();
            indices.sort_unstable();
            indices.dedup();
            prop_assert_eq!(indices.len(), kept.len());
            for &time in &times {
                let bucket = SPAN.bucket(time, buckets);
                prop_assert!(kept.iter().any(|point| SPAN.bucket(point.0, buckets) == bucket));
            }
        }
    }
}
