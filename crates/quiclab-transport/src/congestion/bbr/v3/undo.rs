//! State before a recovery that may prove spurious (section 5.5.11).

use super::machine::State;
use super::{data_rate, data_volume};

/// `BBR.undo_*`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// Whether the state is that before the current recovery.
    is_saved: bool,
    /// State that the losses ended.
    state: Option<State>,
    bw_shortterm: Option<u64>,
    inflight_shortterm: Option<u64>,
    inflight_longterm: Option<u64>,
}

impl Undo {
    /// `SaveStateUponLoss`, once for a recovery.
    pub(super) fn save(&mut self, rate: &data_rate::Model, volume: &data_volume::Model) {
        if self.is_saved {
            return;
        }
        *self = Self {
            is_saved: true,
            state: None,
            bw_shortterm: rate.shortterm(),
            inflight_shortterm: volume.shortterm(),
            inflight_longterm: volume.longterm(),
        };
    }

    /// Records that the losses ended `state`.
    pub(super) fn set_ended(&mut self, state: State) {
        self.state = Some(state);
    }

    /// Handles the end of the recovery: the next loss saves the state.
    pub(super) fn on_recovery_end(&mut self) {
        self.is_saved = false;
    }

    /// `HandleSpuriousLossDetection`: restores the bounds. Returns the state that the losses ended, once.
    pub(super) fn restore(
        &mut self,
        rate: &mut data_rate::Model,
        volume: &mut data_volume::Model,
    ) -> Option<State> {
        self.is_saved = false;
        rate.undo_shortterm(self.bw_shortterm);
        volume.undo(self.inflight_shortterm, self.inflight_longterm);
        self.state.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_loss_of_a_recovery_saves_the_state() {
        let (mut rate, mut volume, mut undo) =
            (data_rate::Model::default(), data_volume::Model::default(), Undo::default());
        volume.set_longterm(90_000);
        undo.save(&rate, &volume);
        undo.set_ended(State::ProbeUp);
        volume.set_longterm(60_000);
        volume.lower_shortterm(50_000);
        rate.lower_shortterm();
        undo.save(&rate, &volume);
        assert_eq!(undo.restore(&mut rate, &mut volume), Some(State::ProbeUp));
        assert_eq!((rate.shortterm(), volume.shortterm(), volume.longterm()), (None, None, Some(90_000)));
        assert_eq!(undo.restore(&mut rate, &mut volume), None, "once");
        volume.set_longterm(70_000);
        undo.save(&rate, &volume);
        undo.on_recovery_end();
        volume.set_longterm(50_000);
        undo.save(&rate, &volume);
        undo.restore(&mut rate, &mut volume);
        assert_eq!(volume.longterm(), Some(50_000), "that before the later recovery");
    }
}
