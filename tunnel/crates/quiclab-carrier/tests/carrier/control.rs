//! Control messages: complete and in order, whatever happens to the paths.

use crate::KINDS;
use crate::network::*;
use crate::throughput::window;
use bytes::Bytes;
use quiclab_carrier::{TunnelEndpointError, TunnelEvent};
use quiclab_core::tunnel::CarrierKind;

fn messages(end: &End) -> Vec<Bytes> {
    let message = |event: &TunnelEvent| match event {
        TunnelEvent::Control { message, .. } => Some(message.clone()),
        _ => None,
    };
    end.events.iter().filter_map(|(_, event)| message(event)).collect()
}

#[test]
fn messages_survive_a_path_that_dies() {
    for kind in KINDS {
        for path in [0, 1] {
            let link = Link { loss: 0.03, ..Link::mbps(20, 10, 50) };
            let mut network = Setup::new(kind, window(62_500), &[link, link]).network();
            network.establish();
            let mut sent = Vec::new();
            println!("{kind:?}, path {path}");
            for number in 0..60_u32 {
                if number == 30 {
                    network.switch(path, false);
                }
                let length = [0, 10, 3000, 20_000][number as usize % 4];
                let message = Bytes::from(vec![number as u8; length]);
                for who in [CLIENT, SERVER] {
                    let end = &mut network.ends[who];
                    if end.endpoint.send_control(end.session.unwrap(), message.clone()).is_ok() {
                        if who == CLIENT {
                            sent.push(message.clone());
                        }
                    } else {
                        panic!("message {number} is refused");
                    }
                    network.pump(who);
                }
                network.run_until(network.now + ms(50));
            }
            if kind == CarrierKind::Multipath {
                // messages in flight on the dead path wait for its return (see the module)
                network.switch(path, true);
            }
            network.run_until(network.now + ms(3000));
            for who in [CLIENT, SERVER] {
                let arrived = messages(&network.ends[who]);
                assert_eq!(arrived.len(), 60, "{kind:?}, path {path}, at {who}");
                assert!(arrived == sent, "{kind:?}, path {path}, at {who}");
            }
        }
    }
}

#[test]
fn what_is_too_much_is_refused() {
    let mut network = Setup::new(KINDS[0], window(62_500), &[Link::mbps(20, 10, 50)]).network();
    let session = network.ends[CLIENT].session.unwrap();
    let endpoint = &mut network.ends[CLIENT].endpoint;
    assert_eq!(endpoint.send_control(session, Bytes::new()), Err(TunnelEndpointError::NotOpen(session)));
    network.establish();
    let endpoint = &mut network.ends[CLIENT].endpoint;
    let long = Bytes::from(vec![0; 65_537]);
    assert_eq!(
        endpoint.send_control(session, long.clone()),
        Err(TunnelEndpointError::TooLong { length: 65_537 })
    );
    let taken = (0..100).take_while(|_| endpoint.send_control(session, long.slice(1..)).is_ok()).count();
    assert_eq!(taken, 16, "1 MiB");
    network.pump(CLIENT);
    network.run_until(network.now + ms(5000));
    assert_eq!(messages(&network.ends[SERVER]).len(), 16);
    assert!(network.ends[CLIENT].endpoint.send_control(session, Bytes::new()).is_ok());
}
