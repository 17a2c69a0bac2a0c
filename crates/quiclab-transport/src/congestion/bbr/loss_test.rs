//! picoquic's filter of losses (picoquic/cc_common.c, `picoquic_hystart_loss_test`): the share of lost packets, smoothed by
//! 1/16 per packet, exceeds 20 %.

/// Maximum number of packets in the smoothing (`PICOQUIC_SMOOTHED_LOSS_SCOPE`).
const LOSS_SCOPE: u32 = 32;
/// `PICOQUIC_SMOOTHED_LOSS_FACTOR`.
const LOSS_FACTOR: f64 = 1.0 / 16.0;
/// `PICOQUIC_SMOOTHED_LOSS_THRESHOLD`.
const LOSS_THRESHOLD: f64 = 0.2;

/// Test for excessive losses (`picoquic_hystart_loss_test`).
#[derive(Clone, Debug, Default)]
pub(crate) struct LossTest {
    share: f64,
    /// Packets delivered since the last loss.
    delivered: u32,
}

impl LossTest {
    /// Adds `packets` that are delivered.
    pub(crate) fn on_delivered(&mut self, packets: u32) {
        self.delivered = self.delivered.saturating_add(packets).min(LOSS_SCOPE - 1);
    }

    /// Adds a lost packet; returns whether the share of losses is above 20 %.
    pub(crate) fn lost_too_many(&mut self) -> bool {
        for _ in 0..=self.delivered {
            self.share *= 1.0 - LOSS_FACTOR;
        }
        self.delivered = 0;
        self.share += (1.0 - self.share) * LOSS_FACTOR;
        self.share > LOSS_THRESHOLD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_losses_in_a_row_are_above_a_fifth_and_one_in_ten_is_not() {
        // n losses in a row: s(n) = (15/16) s' + 1/16 (1 - (15/16) s'), s' the last share:
        // 0.0625, 0.1174, 0.1656, 0.2081 by s = 1 - (1 - s'·15/16)·15/16
        let mut test = LossTest::default();
        assert_eq!([0; 4].map(|_| test.lost_too_many()), [false, false, false, true]);
        // one in ten: s = 1/16 + (15/16)^11 s, so s = 0.0625 / (1 - 0.4917) = 0.123
        let mut test = LossTest::default();
        for _ in 0..100 {
            test.on_delivered(9);
            assert!(!test.lost_too_many());
        }
    }
}
