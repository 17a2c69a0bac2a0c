//! Memory of segments in Linux on 64-bit machines (`truesize`), with which socket buffers are charged.

/// Sizes of `struct sk_buff` and `struct skb_shared_info`, in bytes.
const SK_BUFF: u64 = 256;
const SHARED_INFO: u64 = 320;
/// Room for headers: `MAX_TCP_HEADER` of a segment to be sent, which depends on the configuration of the kernel (192 to
/// 320); `NET_SKB_PAD` and the headers of one that arrives.
const SEND_HEADROOM: u64 = 256;
const RECEIVE_HEADROOM: u64 = 64 + 52;

/// Memory of an skb that waits or is outstanding, beside its payload, which is in shared pages.
pub(super) const SENT_OVERHEAD: u64 = SEND_HEADROOM + SHARED_INFO + SK_BUFF;

/// Memory of the send buffer for each segment of the window: the worst case, a segment with a separate buffer
/// (`tcp_sndbuf_expand`).
pub(super) const fn of_window(payload: u64) -> u64 {
    (payload + SEND_HEADROOM + SHARED_INFO).next_power_of_two() + SK_BUFF
}

/// Memory of a segment with `payload` bytes in the receive buffer.
pub(super) const fn of_received(payload: u64) -> u64 {
    (payload + RECEIVE_HEADROOM + SHARED_INFO).next_power_of_two() + SK_BUFF
}
