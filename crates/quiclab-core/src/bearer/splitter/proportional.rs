//! Batches whose shares follow the measured rates of the links.
//!
//! At the start of each batch every link is credited with its share of the batch, which is the ratio of its
//! rate to the sum of all rates, but not less than `floor`: thus a link that has become slow still gets
//! packets, which show when it is fast again. The links with the largest credit get the packets, one by one,
//! in the order of links; unused credit remains. Thus the shares are exact over many batches, even where a
//! batch has fewer packets than there are links.
//!
//! This is no published scheduler; the batches are those of Hasselquist et al. 2022, whose section on shares
//! sets them by hand to the ratio of the bandwidths.

use super::super::MAX_LINKS;
use super::super::link_estimate::LinkEstimate;
use crate::units::Probability;

/// One packet of credit.
const PACKET: i64 = 1 << 20;

/// See the module documentation.
#[derive(Debug)]
pub(in crate::bearer) struct Proportional {
    batch_packets: u32,
    /// Minimum share of a link.
    floor: f64,
    /// Credit of each link, in packets of `PACKET`.
    credit: [i64; MAX_LINKS],
    /// Packets of the batch that each link still gets.
    left: [u32; MAX_LINKS],
    /// Link of the previous packet.
    link: usize,
}

impl Proportional {
    pub(in crate::bearer) fn new(batch_packets: u32, floor: Probability) -> Self {
        let floor = floor.value();
        Self { batch_packets, floor, credit: [0; MAX_LINKS], left: [0; MAX_LINKS], link: 0 }
    }

    /// The link of the next packet.
    pub(in crate::bearer) fn next(&mut self, links: &[LinkEstimate]) -> usize {
        while self.link < links.len() && self.left[self.link] == 0 {
            self.link += 1;
        }
        if self.link == links.len() {
            self.begin_batch(links);
            self.link = self.left.iter().position(|&left| left > 0).expect("a batch has packets");
        }
        self.left[self.link] -= 1;
        self.link
    }

    fn begin_batch(&mut self, links: &[LinkEstimate]) {
        let mut shares = [0.0; MAX_LINKS];
        let rates = || links.iter().map(|link| link.rate().bits_per_second() as f64);
        let all: f64 = rates().sum();
        for (share, rate) in shares.iter_mut().zip(rates()) {
            *share = (rate / all).max(self.floor);
        }
        let all: f64 = shares.iter().sum();
        for (credit, share) in self.credit.iter_mut().zip(shares) {
            *credit += (share / all * f64::from(self.batch_packets) * PACKET as f64) as i64;
        }
        // whole packets first; then, one by one, the largest credits, the first of equal ones
        let mut missing = self.batch_packets;
        for link in 0..links.len() {
            let whole = u32::try_from(self.credit[link] / PACKET).unwrap_or(0).min(missing);
            self.give(link, whole);
            missing -= whole;
        }
        for _ in 0..missing {
            let best = (0..links.len()).rev().max_by_key(|&link| self.credit[link]);
            self.give(best.expect("a bearer has a link"), 1);
        }
    }

    fn give(&mut self, link: usize, packets: u32) {
        self.left[link] += packets;
        self.credit[link] -= i64::from(packets) * PACKET;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;
    use crate::units::DataRate;
    use proptest::prelude::*;

    fn known(mbps: u64) -> LinkEstimate {
        LinkEstimate::new(DataRate::from_mbps(mbps), Duration::from_millis(100))
    }

    fn counts(batch: u32, floor: f64, rates: &[u64], packets: u32) -> Vec<u32> {
        let links: Vec<_> = rates.iter().map(|&mbps| known(mbps)).collect();
        let mut splitter = Proportional::new(batch, Probability::new(floor).unwrap());
        let mut counts = vec![0; rates.len()];
        for _ in 0..packets {
            counts[splitter.next(&links)] += 1;
        }
        counts
    }

    #[test]
    fn batches_by_hand() {
        assert_eq!(counts(100, 0.05, &[30, 10], 100), [75, 25]);
        assert_eq!(counts(100, 0.05, &[10, 10], 100), [50, 50]);
        // the floor: 5 in 104
        assert_eq!(counts(104, 0.05, &[1000, 1], 104).into_iter().min(), Some(5));
    }

    #[test]
    fn a_batch_is_in_a_row_on_each_link() {
        let links = [known(30), known(10)];
        let mut splitter = Proportional::new(8, Probability::new(0.05).unwrap());
        let order: Vec<_> = (0..16).map(|_| splitter.next(&links)).collect();
        assert_eq!(order, [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1]);
    }

    proptest! {
        /// Over many batches each link has its share, within one packet per link, and none starves.
        #[test]
        fn shares_are_exact_in_the_long_run(
            batch in 1u32..20,
            rates in prop::collection::vec(1u64..100, 1..6),
        ) {
            let packets = batch * 400;
            let counts = counts(batch, 0.01, &rates, packets);
            let floored: Vec<f64> =
                rates.iter().map(|&rate| (rate as f64 / rates.iter().sum::<u64>() as f64).max(0.01)).collect();
            let all: f64 = floored.iter().sum();
            for (count, share) in counts.iter().zip(&floored) {
                let wanted = share / all * f64::from(packets);
                prop_assert!((f64::from(*count) - wanted).abs() <= rates.len() as f64 + 0.01, "{count} of {wanted}");
                prop_assert!(*count > 0);
            }
        }
    }
}
