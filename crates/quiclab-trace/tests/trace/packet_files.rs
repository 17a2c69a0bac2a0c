//! A sink that records each call as a line.

use quiclab_trace::packets::{Content, Flow, ObservedPacket, Sink};

/// Lines such as `0 > 1500000 1252+42 [7] acks 1-2 5-5 eliciting`: flow, direction, ns, payload and headers.
#[derive(Default)]
pub struct Written {
    pub flows: Vec<String>,
    pub packets: Vec<String>,
}

impl Sink for Written {
    fn flow(&mut self, index: usize, flow: &Flow) {
        assert_eq!(index, self.flows.len(), "flows are numbered as they come");
        assert_eq!(flow.ends, None);
        self.flows.push(format!("{:?} {}", flow.protocol, flow.name));
    }

    fn better_known(&mut self, index: usize, flow: &Flow) {
        self.flows[index] += &format!("; then {}", flow.name);
    }

    fn packet(&mut self, index: usize, seen: &ObservedPacket<'_>) {
        assert!(index < self.flows.len(), "a flow comes before its packets");
        let direction = if seen.backward { '<' } else { '>' };
        let headers = seen.frame_bytes - seen.payload_bytes;
        let mut line = format!("{index} {direction} {} {}+{headers}", seen.at, seen.payload_bytes);
        match seen.content {
            Content::Quic { numbers, acknowledged, ack_eliciting } => {
                let name = |path: u32, number: u64| {
                    if path == 0 { number.to_string() } else { format!("{path}:{number}") }
                };
                let names: Vec<String> =
                    numbers.iter().map(|packet| name(packet.path, packet.number)).collect();
                line += &format!(" [{}]", names.join(", "));
                if let Some(ranges) = acknowledged {
                    line += " acks";
                    for range in ranges {
                        line +=
                            &format!(" {}-{}", name(range.path, *range.numbers.start()), range.numbers.end());
                    }
                }
                if ack_eliciting {
                    line += " eliciting";
                }
            }
            Content::Opaque => line += " opaque",
            Content::Segment { .. } | Content::Acknowledges(_) => {
                unreachable!("neither TCP nor ends of ours in a qlog")
            }
        }
        self.packets.push(line);
    }
}
