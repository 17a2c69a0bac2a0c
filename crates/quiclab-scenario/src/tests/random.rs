//! Random scenarios print what loads back; random text and random damage never panic.

use super::{examples, load, some_stacks};
use crate::{
    Document, Exchange, Flow, PathRoutes, Plugin, PluginEnds, Record, Scenario, Tunnel, Until, VERSION, Wire,
    WireDirection,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use quiclab_core::Duration;
use quiclab_core::TapConfig;
use quiclab_core::bearer::{BearerConfig, BearerMode, Reordering, ReorderingTimer, Splitter, TimerRule};
use quiclab_core::host::{HostConfig, MemoryReturn};
use quiclab_core::link::{
    Delay, Distribution, FeedbackConfig, Hold, LinkConfig, Loss, Rate, ShapedRate, TraceEnd, TraceFormat,
};
use quiclab_core::queue::{
    Codel, CodelRestart, ControlLaw, DropTail, FlowHash, FqCodel, HeadDrop, QueueConfig,
};
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::tunnel::{CarrierKind, LeaveRule, Pipeline};
use quiclab_core::{ByteCount, DataRate, Probability};
use quiclab_transport::options::{
    AckFrequency, Acknowledgement, CongestionControl, Controller, EarlyData, EndpointConfig, FlowControl,
    Http2Options, ObjectKind, Pacing, PageObjects, PageResource, PingProtocol, Priorities, QuicOptions,
    QuicVersion, RateReduction, RttVariation, SlowStartExit, StreamScheduler, TcpLossDetection, TcpMetrics,
    TcpOptions, Tls, TlsVersion, Workload,
};
use serde_json::json;

/// Integers of every magnitude: most quantities are round in some unit.
fn integer() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..1000u64,
        (0..1000u64, 0..7u32).prop_map(|(value, zeros)| value * 10u64.pow(zeros)),
        any::<u64>()
    ]
}
fn small() -> impl Strategy<Value = u64> {
    integer().prop_map(|value| value >> 1) // what TOML can write
}
fn time() -> impl Strategy<Value = Duration> {
    integer().prop_map(Duration::from_nanos)
}
fn size() -> impl Strategy<Value = ByteCount> {
    integer().prop_map(ByteCount::from_bytes)
}
fn bit_rate() -> impl Strategy<Value = DataRate> {
    integer().prop_map(DataRate::from_bits_per_second)
}
fn probability() -> impl Strategy<Value = Probability> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0].prop_map(|value| Probability::new(value).unwrap())
}
fn name() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_-]{1,6}"
}
fn names() -> impl Strategy<Value = Vec<String>> {
    vec(name(), 0..4)
}

fn rate() -> impl Strategy<Value = Rate> {
    let format = select(vec![TraceFormat::Csv, TraceFormat::Mahimahi]);
    let at_end = select(vec![TraceEnd::Loop, TraceEnd::Hold, TraceEnd::Stop]);
    prop_oneof![
        bit_rate().prop_map(Rate::Constant),
        (bit_rate(), size()).prop_map(|(rate, burst)| Rate::Shaped(ShapedRate::TokenBucket { rate, burst })),
        ("\\PC{0,8}", format, at_end).prop_map(|(file, format, at_end)| {
            Rate::Shaped(ShapedRate::Trace { file: file.into(), format, at_end })
        }),
    ]
}

fn delay() -> impl Strategy<Value = Delay> {
    use Distribution::{Constant, Normal, Pareto, Uniform};
    let hold = (of(time()), 1..10u32);
    (time(), time(), select(vec![Constant, Normal, Uniform, Pareto]), any::<bool>(), hold).prop_map(
        |(mean, deviation, distribution, reorder, (every, steps))| Delay {
            mean,
            deviation,
            distribution,
            reorder,
            every,
            steps,
        },
    )
}

fn holds() -> impl Strategy<Value = Vec<Hold>> {
    let hold = (small(), time(), of(small()));
    vec(hold.prop_map(|(packet, by, behind)| Hold { packet, by, behind }), 0..3)
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        probability().prop_map(|probability| Loss::Independent { probability }),
        (probability(), probability(), probability(), probability()).prop_map(
            |(good_to_bad, bad_to_good, loss_in_good, loss_in_bad)| Loss::GilbertElliott {
                good_to_bad,
                bad_to_good,
                loss_in_good,
                loss_in_bad
            }
        ),
        vec(small(), 0..4).prop_map(|packets| Loss::Listed { packets }),
    ]
}

fn queue() -> impl Strategy<Value = QueueConfig> {
    let law = || select(vec![ControlLaw::InverseSqrt, ControlLaw::InverseCount]);
    let restart = || select(vec![CodelRestart::LastSeries, CodelRestart::MinusTwo]);
    let hash = select(vec![FlowHash::FiveTuple, FlowHash::FieldSum]);
    let codel = (time(), time(), any::<bool>(), of(time()), size(), law(), restart());
    let sizes = (small(), size(), size(), any::<u32>(), any::<u32>(), hash, size());
    let more = (time(), time(), any::<bool>(), of(time()), size(), law(), restart());
    prop_oneof![
        (of(small()), of(size()), of(time()))
            .prop_map(|(packets, bytes, time)| QueueConfig::DropTail(DropTail { packets, bytes, time })),
        (of(small()), of(size()))
            .prop_map(|(packets, bytes)| QueueConfig::HeadDrop(HeadDrop { packets, bytes })),
        (small(), codel).prop_map(
            |(packets, (target, interval, ecn, ce_threshold, least_backlog, control_law, restart))| {
                QueueConfig::Codel(Codel {
                    packets,
                    target,
                    interval,
                    ecn,
                    ce_threshold,
                    least_backlog,
                    control_law,
                    restart,
                })
            }
        ),
        (sizes, more).prop_map(|(sizes, more)| {
            let (packets, memory, memory_per_packet, drop_batch, flows, hash, quantum) = sizes;
            let (target, interval, ecn, ce_threshold, least_backlog, control_law, restart) = more;
            QueueConfig::FqCodel(FqCodel {
                packets,
                memory,
                memory_per_packet,
                drop_batch,
                flows,
                hash,
                quantum,
                target,
                interval,
                ecn,
                ce_threshold,
                least_backlog,
                control_law,
                restart,
            })
        }),
    ]
}

fn link() -> impl Strategy<Value = LinkConfig> {
    let feedback = (time(), time(), time()).prop_map(|(interval, delay, desired_buffer)| FeedbackConfig {
        interval,
        delay,
        desired_buffer,
    });
    (of(rate()), size(), queue(), of(loss()), delay(), holds(), of(feedback)).prop_map(
        |(rate, overhead_per_packet, queue, loss, delay, holds, feedback)| LinkConfig {
            rate,
            overhead_per_packet,
            queue,
            loss,
            delay,
            holds,
            feedback,
        },
    )
}

fn bearer() -> impl Strategy<Value = BearerConfig> {
    let adaptive = (time(), time(), time(), prop::num::f64::NORMAL);
    let timer = prop_oneof![
        time().prop_map(ReorderingTimer::Fixed),
        adaptive.prop_map(|(least, most, window, factor)| {
            ReorderingTimer::Rule(TimerRule::Adaptive { least, most, window, factor })
        }),
    ];
    let splitter = prop_oneof![
        Just(Splitter::Batches),
        (bit_rate(), time(), probability()).prop_map(|(start_rate, smoothing, floor)| {
            Splitter::Proportional { start_rate, smoothing, floor }
        }),
        (bit_rate(), time(), time()).prop_map(|(start_rate, smoothing, probe_interval)| {
            Splitter::LeastExpectedArrival { start_rate, smoothing, probe_interval }
        }),
        (any::<u32>(), size()).prop_map(|(queue_packets, start_buffer)| {
            Splitter::FlowControl { queue_packets, start_buffer }
        }),
    ];
    let reordering = (any::<bool>(), timer, any::<u8>())
        .prop_map(|(enabled, timer, sequence_bits)| Reordering { enabled, timer, sequence_bits });
    let mode = select(vec![BearerMode::Split, BearerMode::Duplicate]);
    let choice = (mode, splitter, probability());
    (names(), any::<u32>(), vec(any::<u32>(), 0..4), choice, reordering).prop_map(
        |(links, batch_packets, shares, (mode, splitter, duplication), reordering)| BearerConfig {
            links,
            batch_packets,
            shares,
            mode,
            splitter,
            duplication,
            reordering,
        },
    )
}

fn host() -> impl Strategy<Value = HostConfig> {
    let returned = select(vec![MemoryReturn::AtOnce, MemoryReturn::InQuarters]);
    let receive = (of(size()), of(size()), time(), time(), any::<u32>(), returned);
    (receive, (time(), time(), any::<u32>(), delay(), time(), delay())).prop_map(|(receive, send)| {
        HostConfig {
            receive_buffer: receive.0,
            truesize: receive.1,
            memory_return: receive.5,
            receive_datagram: receive.2,
            receive_call: receive.3,
            receive_batch: receive.4,
            send_datagram: send.0,
            send_call: send.1,
            send_batch: send.2,
            page_object: send.4,
            timer_slack: send.3,
            wake_up: send.5,
        }
    })
}

fn end() -> BoxedStrategy<EndpointConfig> {
    let ack_frequency = (any::<u32>(), of(time()), any::<u32>()).prop_map(
        |(ack_eliciting_threshold, max_ack_delay, reordering_threshold)| AckFrequency {
            ack_eliciting_threshold,
            max_ack_delay,
            reordering_threshold,
        },
    );
    let control = (
        of(select(CongestionControl::ALL.to_vec())),
        of(select(vec![Controller::Stack, Controller::Quiclab])),
        of(any::<u32>()),
        of(select(SlowStartExit::ALL.to_vec())),
        of(pacing()),
    );
    let windows = (of(size()), of(size()), of(size()), of(size()), of(size()));
    let recovery = (of(any::<u32>()), of(prop::num::f64::NORMAL), of(time()), of(ack_frequency));
    let layers = (of(tcp()), of(tls()), of(quic()), of(http2()));
    (of(name()), of(name()), of(name()), control, windows, recovery, layers)
        .prop_map(|(stack, profile, host, control, windows, recovery, layers)| EndpointConfig {
            stack,
            profile,
            host,
            congestion_control: control.0,
            datagram_size: windows.0,
            initial_window: windows.1,
            stream_receive_window: windows.2,
            connection_receive_window: windows.3,
            send_window: windows.4,
            packet_threshold: recovery.0,
            time_threshold: recovery.1,
            initial_rtt: recovery.2,
            ack_frequency: recovery.3,
            controller: control.1,
            emulated_connections: control.2,
            slow_start_exit: control.3,
            pacing: control.4,
            tcp: layers.0,
            tls: layers.1,
            quic: layers.2,
            http2: layers.3,
        })
        .boxed()
}

fn pacing() -> BoxedStrategy<Pacing> {
    let factor = || prop::num::f64::NORMAL;
    prop_oneof![
        Just(Pacing::None),
        ((factor(), of(factor()), of(factor())), any::<u32>(), of(time()), of(any::<u32>())).prop_map(
            |((factor, slow_start_factor, burst_share), burst_packets, burst_time, idle_burst_packets)| {
                Pacing::LeakyBucket {
                    factor,
                    slow_start_factor,
                    burst_packets,
                    burst_share,
                    burst_time,
                    idle_burst_packets,
                    whole_bursts: false,
                }
            }
        ),
        factor().prop_map(|factor| Pacing::Even { factor }),
        (factor(), any::<u32>(), time()).prop_map(|(factor, burst_packets, quantum)| Pacing::Quantum {
            factor,
            burst_packets,
            quantum
        }),
        (factor(), any::<u32>(), factor()).prop_map(|(factor, burst_packets, burst_share)| {
            Pacing::TimeBucket { factor, burst_packets, burst_share }
        }),
        of(bit_rate()).prop_map(|max_rate| Pacing::Linux { max_rate }),
        of(bit_rate()).prop_map(|max_rate| Pacing::Fq { max_rate }),
    ]
    .boxed()
}

fn tcp() -> BoxedStrategy<TcpOptions> {
    use RateReduction::{None, Prr, PrrSafeAck};
    use TcpLossDetection::{DuplicateAcks, DuplicateAcksAndRack, Rack};
    let sizes = [of(size()), of(size()), of(size()), of(size())];
    let switches = prop::array::uniform8(of(any::<bool>()));
    let times = prop::array::uniform5(of(time()));
    let counts = prop::array::uniform5(of(any::<u32>()));
    let choices = (
        of(select(vec![DuplicateAcks, DuplicateAcksAndRack, Rack])),
        of(select(vec![None, Prr, PrrSafeAck])),
        of(select(vec![TcpMetrics::None, TcpMetrics::FromRunBefore])),
    );
    (sizes, switches, times, counts, choices)
        .prop_map(|(sizes, switches, times, counts, choices)| TcpOptions {
            mss: sizes[0],
            receive_buffer: sizes[1],
            max_receive_buffer: sizes[2],
            max_send_buffer: sizes[3],
            timestamps: switches[0],
            sack: switches[1],
            dsack: switches[2],
            window_scaling: switches[3],
            tail_loss_probe: switches[4],
            frto: switches[5],
            undo: switches[6],
            restart_after_idle: switches[7],
            min_rto: times[0],
            initial_rto: times[1],
            min_delayed_ack: times[2],
            max_delayed_ack: times[3],
            compressed_ack_delay: times[4],
            reordering: counts[0],
            max_reordering: counts[1],
            quick_acks: counts[2],
            compressed_acks: counts[3],
            gso_segments: counts[4],
            loss_detection: choices.0,
            rate_reduction: choices.1,
            metrics: choices.2,
        })
        .boxed()
}

/// Large strategies go to the heap: all of them together overflow the stack of a test.
fn quic() -> BoxedStrategy<QuicOptions> {
    let sizes = [of(size()), of(size()), of(size()), of(size()), of(size())];
    let switches = prop::array::uniform6(of(any::<bool>()));
    let counts = [of(any::<u32>()), of(any::<u32>()), of(any::<u32>())];
    let others = (of(acknowledgement()), of(time()), of(time()), of(small()));
    let choices = (
        of(select(vec![QuicVersion::V1, QuicVersion::Gquic37])),
        of(select(vec![RttVariation::Rfc9002, RttVariation::FromMinimum])),
        of(select(vec![
            FlowControl::Fixed,
            FlowControl::DoubleWhenHalfUsed,
            FlowControl::DoubleWithinTwoRtts,
        ])),
        of(select(vec![
            StreamScheduler::Fifo,
            StreamScheduler::RoundRobin,
            StreamScheduler::Priority,
            StreamScheduler::PriorityInBatches,
        ])),
        of(path_scheduler()),
    );
    (sizes, switches, counts, others, choices)
        .prop_map(|(sizes, switches, counts, others, choices)| QuicOptions {
            version: choices.0,
            connection_id: sizes[0],
            packet_number: sizes[1],
            acknowledgement: others.0,
            ack_ranges: counts[0],
            max_ack_delay: others.1,
            adaptive_packet_threshold: switches[0],
            adaptive_time_threshold: switches[1],
            rtt_variation: choices.1,
            persistent_congestion: switches[2],
            probe_packets: counts[1],
            window_validation: switches[3],
            max_window: sizes[2],
            pacing_before_rtt: switches[4],
            max_streams: others.3,
            flow_control: choices.2,
            max_stream_receive_window: sizes[3],
            max_connection_receive_window: sizes[4],
            stream_scheduler: choices.3,
            amplification_factor: counts[2],
            datagram_congestion_control: switches[5],
            idle_timeout: others.2,
            path_scheduler: choices.4,
        })
        .boxed()
}

fn acknowledgement() -> impl Strategy<Value = Acknowledgement> {
    prop_oneof![
        (any::<u32>(), time()).prop_map(|(packets, delay)| Acknowledgement::Every { packets, delay }),
        time().prop_map(|delay| Acknowledgement::Timer { delay }),
        (prop::num::f64::NORMAL, any::<u32>(), time(), small()).prop_map(
            |(fraction, packets, delay, from_packet)| Acknowledgement::RttFraction {
                fraction,
                packets,
                delay,
                from_packet
            }
        ),
        time().prop_map(|delay| Acknowledgement::AsAsked { delay }),
    ]
}

fn path_scheduler() -> impl Strategy<Value = PathSchedulerKind> {
    let number = || prop::num::f64::NORMAL;
    prop_oneof![
        select(vec![
            PathSchedulerKind::RoundRobin,
            PathSchedulerKind::StrictRoundRobin,
            PathSchedulerKind::Redundant,
        ]),
        prop::collection::vec(any::<u32>(), 0..4)
            .prop_map(|weights| PathSchedulerKind::WeightedRoundRobin { weights }),
        of(size()).prop_map(|penalise_above| PathSchedulerKind::LowestRtt { penalise_above }),
        prop::collection::vec(any::<u32>(), 0..4)
            .prop_map(|order| PathSchedulerKind::CheapestFirst { order }),
        (number(), of(size()))
            .prop_map(|(scaling, send_window)| PathSchedulerKind::Blest { scaling, send_window }),
        number().prop_map(|hysteresis| PathSchedulerKind::Ecf { hysteresis }),
        (number(), time())
            .prop_map(|(hysteresis, patience)| PathSchedulerKind::EarliestArrival { hysteresis, patience }),
    ]
}

fn ping_protocol() -> impl Strategy<Value = PingProtocol> {
    select(vec![PingProtocol::Udp, PingProtocol::Icmp])
}

fn http2() -> impl Strategy<Value = Http2Options> {
    (of(size()), of(size()), of(any::<u32>()), of(size()), of(size())).prop_map(
        |(stream_window, connection_window, max_streams, frame_size, warm_up)| Http2Options {
            stream_window,
            connection_window,
            max_streams,
            frame_size,
            warm_up,
        },
    )
}

fn tls() -> impl Strategy<Value = Tls> {
    let versions = select(vec![TlsVersion::Tls12, TlsVersion::Tls13]);
    let early_data = of(select(vec![EarlyData::Accepted, EarlyData::Rejected]));
    (versions, any::<bool>(), size(), early_data).prop_map(
        |(version, resumption, certificate, early_data)| Tls { version, resumption, certificate, early_data },
    )
}

fn page() -> BoxedStrategy<Workload> {
    let kinds = vec![ObjectKind::Image, ObjectKind::Style, ObjectKind::Script, ObjectKind::Font];
    let objects = (any::<u32>(), size(), select(kinds)).prop_map(|(count, size, kind)| PageObjects {
        count,
        size,
        kind,
    });
    let priorities = select(vec![Priorities::Browser, Priorities::RoundRobin]);
    let times = (time(), time(), delay());
    ([size(), size(), size()], vec(objects, 0..3), vec(page_resource(), 0..3), times, priorities)
        .prop_map(|([html, request, response], objects, resources, times, priorities)| {
            let (html_think_time, think_time, browser_time) = times;
            Workload::Page {
                html,
                objects,
                resources,
                html_think_time,
                think_time,
                browser_time,
                priorities,
                request,
                response,
            }
        })
        .boxed()
}

fn page_resource() -> BoxedStrategy<PageResource> {
    let kinds = vec![ObjectKind::Image, ObjectKind::Style, ObjectKind::Script, ObjectKind::Font];
    (
        size(),
        select(kinds),
        vec(any::<u32>(), 0..3),
        time(),
        any::<u32>(),
        of(time()),
        [of(size()), of(size())],
    )
        .prop_map(|(size, kind, after, delay, origin, think_time, [request, response])| PageResource {
            size,
            kind,
            after,
            delay,
            origin,
            think_time,
            request,
            response,
        })
        .boxed()
}

fn workload() -> BoxedStrategy<Workload> {
    prop_oneof![
        (of(size()), of(time()), size()).prop_map(|(size, duration, request)| Workload::Download {
            size,
            duration,
            request
        }),
        (any::<u32>(), size(), size(), time()).prop_map(|(count, request, response, pause)| {
            Workload::RequestResponse { count, request, response, pause }
        }),
        (bit_rate(), size(), time(), of(time()), of(time())).prop_map(|(rate, size, duration, on, off)| {
            Workload::Datagrams { rate, size, duration, on, off }
        }),
        (size(), any::<u32>(), time(), ping_protocol())
            .prop_map(|(size, count, interval, protocol)| Workload::Ping { protocol, size, count, interval }),
        (bit_rate(), bit_rate(), bit_rate(), any::<u32>(), size(), time(), any::<bool>()).prop_map(
            |(start_rate, max_rate, ramp_up_speed, frame_rate, packet_size, time, ecn)| Workload::Media {
                start_rate,
                min_rate: start_rate,
                max_rate,
                frame_rate,
                packet_size,
                target_delay: time,
                ramp_up_speed,
                ecn,
                duration: time,
            }
        ),
        page(),
    ]
    .boxed()
}

fn plugin() -> impl Strategy<Value = Plugin> {
    let value = prop_oneof![
        any::<bool>().prop_map(|value| json!(value)),
        small().prop_map(|value| json!(value)),
        prop::num::f64::NORMAL.prop_map(|value| json!(value)),
        any::<String>().prop_map(|value| json!(value)),
        (name(), small()).prop_map(|(key, value)| json!({ key: [value] })),
    ];
    let exchange = (name(), of(value), of(any::<String>()), of(any::<String>()))
        .prop_map(|(operation, replace, before, after)| Exchange { operation, replace, before, after });
    let ends = select(vec![PluginEnds::Both, PluginEnds::Sender, PluginEnds::Receiver]);
    (any::<String>(), ends, vec(exchange, 0..3)).prop_map(|(description, ends, exchanges)| Plugin {
        description,
        ends,
        exchanges,
    })
}

fn flow() -> BoxedStrategy<Flow> {
    let paths = vec((names(), names()).prop_map(|(down, up)| PathRoutes { down, up }), 0..2);
    let plugins = vec(prop_oneof![name(), Just("no-pacing".to_owned())], 0..3);
    (of(name()), end(), end(), (names(), names(), paths, plugins), workload(), time())
        .prop_map(|(stack, sender, receiver, (down, up, paths, plugins), workload, start)| Flow {
            paths,
            plugins,
            stack,
            sender,
            receiver,
            down,
            up,
            workload,
            start,
        })
        .boxed()
}

fn tunnel() -> impl Strategy<Value = Tunnel> {
    let pipeline = prop_oneof![
        Just(Pipeline::Direct),
        select(vec![LeaveRule::Full, LeaveRule::FullOrAcknowledging, LeaveRule::AtOnce])
            .prop_map(|leaves| Pipeline::Pquic { leaves }),
    ];
    let paths = vec((names(), names()).prop_map(|(down, up)| PathRoutes { down, up }), 0..3);
    let carrier = select(vec![CarrierKind::Connections, CarrierKind::Multipath]);
    let parts = (any::<String>(), carrier, pipeline, queue(), path_scheduler());
    (parts, size(), of(time()), vec(size(), 0..3), end(), end(), paths)
        .prop_map(
            |(
                (stack, carrier, pipeline, queue, scheduler),
                mtu,
                resequencing,
                windows,
                server,
                client,
                paths,
            )| {
                Tunnel {
                    stack,
                    carrier,
                    pipeline,
                    queue,
                    scheduler,
                    mtu,
                    resequencing,
                    windows,
                    server,
                    client,
                    paths,
                }
            },
        )
        .boxed()
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let until =
        prop_oneof![Just(Until::WorkloadsDone), Just(Until::DurationOver), size().prop_map(Until::Delivered)];
    let wire =
        (any::<String>(), any::<String>(), of(name()), any::<bool>()).prop_map(|(from, to, flow, up)| {
            let direction = if up { WireDirection::Up } else { WireDirection::Down };
            Wire { from, to, flow, direction }
        });
    let record = (of(time()), any::<[bool; 6]>()).prop_map(
        |(series_interval, [packets, acks, sojourns, requests, qlog, pcapng])| Record {
            series_interval,
            packets,
            acks,
            sojourns,
            requests,
            qlog,
            pcapng,
        },
    );
    let tap = small().prop_map(|keep_packets| TapConfig { keep_packets });
    let network = (
        btree_map(name(), link(), 0..4),
        btree_map(name(), bearer(), 0..3),
        btree_map(name(), host(), 0..3),
        btree_map(name(), tap, 0..3),
        btree_map(name(), plugin(), 0..3),
        btree_map(name(), tunnel(), 0..3),
    );
    let head = (any::<String>(), any::<String>(), time(), until);
    (head, network, btree_map(name(), flow(), 0..3), vec(wire, 0..3), record).prop_map(
        |(
            (name, description, duration, until),
            (links, bearers, hosts, taps, plugins, tunnels),
            flows,
            wires,
            record,
        )| {
            Scenario {
                version: VERSION,
                name,
                description,
                duration,
                until,
                links,
                bearers,
                hosts,
                taps,
                tunnels,
                plugins,
                flows,
                wires,
                record,
            }
        },
    )
}

/// Texts that lead deeper into loader and validation than random letters.
const FRAGMENTS: &[&str] = &[
    "0",
    "-1",
    "1e99",
    "99999999999999999999",
    "nan",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"x\"",
    "\"0 ms\"",
    "\"10\"",
    "\"-5 %\"",
    "\"18446744073709551615 ns\"",
    "[1, 2]",
    "{ kind = \"x\" }",
    "[flows.x]",
    "[[wires]]",
    "from = \"a.0\"",
    "to = \"dc.sender.70000\"",
    "kind",
    ".",
    "=",
    "\n",
    "\"",
    "1979-05-27",
];

proptest! {
    #[test]
    fn what_is_printed_loads_back(scenario in scenario()) {
        let printed = scenario.to_toml().unwrap();
        let again = Scenario::from_toml(&printed, "s.toml", &[]);
        prop_assert_eq!(again, Ok(scenario.resolved()), "{}", printed);
    }

    #[test]
    fn random_scenarios_validate_without_panic(scenario in scenario()) {
        if scenario.validate(&some_stacks).is_ok() {
            prop_assert!(!scenario.wiring().is_empty());
        }
    }

    #[test]
    fn random_text_never_panics(text in any::<String>(), path in any::<String>(), value in any::<String>()) {
        let _ = load(&text, &[]);
        let _ = Scenario::from_json(&text);
        let _ = load(Scenario::template(), &[(&path, &value)]);
    }

    #[test]
    fn damaged_examples_give_a_sentence(
        example in any::<prop::sample::Index>(),
        damage in vec((any::<prop::sample::Index>(), 0..12usize, select(FRAGMENTS)), 1..4),
    ) {
        let examples = examples();
        let mut text: Vec<char> = example.get(&examples).1.chars().collect();
        for (place, length, fragment) in damage {
            let start = place.index(text.len());
            let end = (start + length).min(text.len());
            text.splice(start..end, fragment.chars());
        }
        let text: String = text.into_iter().collect();
        match load(&text, &[]) {
            Ok(scenario) => prop_assert!(!scenario.wiring().is_empty()),
            Err(error) => {
                let sentence = error.to_string();
                prop_assert!(sentence.starts_with("s.toml:"), "{}", sentence);
                prop_assert_eq!(sentence.lines().count(), 1, "{}", sentence);
            }
        }
    }

    #[test]
    fn a_value_of_another_type_is_named_by_path_and_line(
        example in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
    ) {
        // `nan` is no value of any field but a threshold; JSON pointers of all leaves give the paths
        let examples = examples();
        let text = &example.get(&examples).1;
        let mut leaves = Vec::new();
        collect(&toml::from_str(text).unwrap(), String::new(), &mut leaves);
        let path = place.get(&leaves);
        let error = load(text, &[(path, "nan")]).unwrap_err().to_string();
        // an entry of a list may be named by its list
        let list = path.rsplit_once('.').filter(|(_, last)| last.parse::<usize>().is_ok());
        let named = error.starts_with(&format!("s.toml:--set: {path} = NaN: "))
            || list.is_some_and(|(list, _)| error.contains(&format!(": {list} = [")) && error.contains("NaN"));
        prop_assert!(named, "{}", error);
        let document = Document::from_toml(text, "s.toml", &[]).unwrap();
        prop_assert!(document.scenario().is_ok());
    }
}

/// Dotted paths of all values that are neither tables nor arrays.
fn collect(value: &serde_json::Value, path: String, leaves: &mut Vec<String>) {
    let below = |step: &str| if path.is_empty() { step.to_owned() } else { format!("{path}.{step}") };
    match value {
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| collect(value, below(name), leaves));
        }
        serde_json::Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| collect(value, below(&at.to_string()), leaves));
        }
        _ => leaves.push(path),
    }
}
