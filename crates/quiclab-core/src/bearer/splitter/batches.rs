//! Batches with fixed shares.
//!
//! Each batch of B packets is divided by the weights of the links: the packet at position
//! i = 0 .. B - 1 of a batch takes the first link k with i * W < (w_0 + .. + w_k) * B, W being the
//! sum of all weights. With two links and the share r = w_0 / W these are the ceil(r * B) packets in
//! a row on the first link and the rest on the second of Hasselquist et al. 2022, in integers.

/// See the module documentation.
#[derive(Debug)]
pub(in crate::bearer) struct Batches {
    batch_packets: u32,
    /// Position of the next packet in its batch.
    position: u32,
    /// Link of the previous packet of the batch; the next one takes this or a later one.
    link: usize,
    /// For each link, the first position in a batch that belongs to a later link. Equal to that of
    /// its predecessor (0 for the first link) where the weight is 0.
    ends: Vec<u32>,
}

impl Batches {
    /// Batches of `batch_packets`, at least 1, by `weights`, one of which is positive.
    pub(in crate::bearer) fn new(batch_packets: u32, weights: &[u32]) -> Self {
        let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        let mut cumulative = 0;
        let ends = weights.iter().map(|&weight| {
            // i * W < c * B holds for i below c * B / W, rounded up; at most B, so it fits
            cumulative += u128::from(weight);
            (cumulative * u128::from(batch_packets)).div_ceil(total) as u32
        });
        Self { batch_packets, position: 0, link: 0, ends: ends.collect() }
    }

    /// The link of the next packet.
    #[inline]
    pub(in crate::bearer) fn next(&mut self) -> usize {
        // the last end is the length of the batch, so the search ends
        while self.position >= self.ends[self.link] {
            self.link += 1;
        }
        let link = self.link;
        self.position += 1;
        if self.position == self.batch_packets {
            (self.position, self.link) = (0, 0);
        }
        link
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_batch_and_weights_do_not_overflow() {
        let batches = Batches::new(u32::MAX, &[u32::MAX; 8]);
        // eighths of 2^32 - 1, rounded up
        let eighths: Vec<u32> = (1..=8u64).map(|k| (k * u64::from(u32::MAX)).div_ceil(8) as u32).collect();
        assert_eq!(batches.ends, eighths);
    }
}
