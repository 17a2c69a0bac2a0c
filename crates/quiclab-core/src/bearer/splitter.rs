//! Algorithms by which the sending end of a bearer chooses the link of each packet, one per file.

mod batches;
mod flow_control;
mod function;
mod least_expected_arrival;
mod proportional;

pub(super) use batches::Batches;
pub(super) use flow_control::FlowControl;
pub(super) use function::Function;
pub use function::{ChooseLink, LinkView, SplitPacket};
pub(super) use least_expected_arrival::LeastExpectedArrival;
pub(super) use proportional::Proportional;

/// See the scenario's `Splitter`.
#[derive(Debug)]
pub(super) enum Splitter {
    Batches(Batches),
    Proportional(Proportional),
    LeastExpectedArrival(LeastExpectedArrival),
    FlowControl(FlowControl),
    Function(Function),
}
