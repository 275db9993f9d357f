//! Tests of what elements of this crate take over from those whose places they take in a graph that changes.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use element::{Runtime, TOP};
use engine::world::World;

use crate::stage::{table, Format, PipeIn, PipeOut};
use crate::testing::{self, cannot_run, in_namespace, lan, run_until, Scratch, LAN};

/// Runs graphs one after the other, each until `is_done` says so of its number; what they printed, and the values of handlers.
fn run(graphs: &[&str], reads: &[&str], mut is_done: impl FnMut(usize, &mut World) -> bool) -> String {
    let (mut idx, mut told) = (0, String::new());
    let text = run_until(graphs[0], reads, |world| {
        if !is_done(idx, world) {
            return false;
        }
        idx += 1;
        let Some(next) = graphs.get(idx) else { return true };
        told += &world.change_to(next).err().unwrap_or_default();
        false
    });
    assert_eq!(idx, graphs.len(), "the last graph has done what it should:\n{told}{text}");
    told + &text
}

/// The number that a handler reads.
fn number(world: &mut World, handler: &str) -> u64 {
    let text = world.read_handler(TOP, handler, "").unwrap_or_default();
    text.parse().unwrap_or(0)
}

#[test]
fn a_capture_is_read_and_written_on_where_it_was() {
    let scratch = Scratch::new();
    let (whole, parts) = (scratch.path("whole.pcap"), scratch.path("parts.pcap"));
    testing::run(&format!("FromDump({LAN}, STOP true) -> ToDump({whole}, SNAPLEN 0)"), &[]);
    let graph = |from: &str, to: &str| {
        format!("f :: FromDump({LAN}{from}) -> c :: Counter -> t :: ToDump({parts}, SNAPLEN 0{to})")
    };
    let graphs = [graph("", ""), graph(", ACTIVE true", ", UNBUFFERED true"), graph("", "")];
    let graphs: Vec<&str> = graphs.iter().map(String::as_str).collect();
    let told = run(&graphs, &["c.count", "f.count", "t.count"], |idx, world| match idx {
        2 => number(world, "c.count") >= 799,
        _ => number(world, "c.count") >= 10 * (1 + idx as u64),
    });
    assert_eq!(std::fs::read(&parts).unwrap(), std::fs::read(&whole).unwrap(), "{told}");
}

#[test]
fn a_capture_of_another_link_type_begins_anew() {
    let scratch = Scratch::new();
    let path = scratch.path("out.pcap");
    let graph =
        |encap: &str, n: u32| format!("InfiniteSource(LIMIT {n}) -> t :: ToDump({path}, ENCAP {encap})");
    let told = run(&[&graph("ETHER", 3), &graph("FDDI", 2)], &["t.count"], |idx, world| {
        number(world, "t.count") >= [3, 5][idx]
    });
    assert_eq!(told, "t.count: 5\n");
    let told = testing::run(
        &format!("f :: FromDump({path}, STOP true) -> c :: Counter -> Discard"),
        &["f.encap", "c.count"],
    );
    assert_eq!(told, "f.encap: FDDI\nc.count: 2\n");
}

#[test]
fn connections_and_ports_stay_while_sockets_are_changed() {
    let scratch = Scratch::new();
    let path = scratch.path("socket");
    let graph = |options: &str| format!("s :: Socket(UNIX, {path}{options}) -> c :: Counter -> Queue -> s;");
    let client = RefCell::new(None);
    let told =
        run(&[&graph(""), &graph(", VERBOSE true, SNAPLEN 100"), &graph("")], &["c.count"], |idx, world| {
            let mut client = client.borrow_mut();
            let client = client.get_or_insert_with(|| {
                let client = UnixStream::connect(&path).unwrap();
                client.set_nonblocking(true).unwrap();
                client
            });
            if number(world, "c.count") <= idx as u64 {
                let _ = client.write(b"x");
            }
            client.read(&mut [0; 10]).is_ok()
        });
    assert!(told.starts_with("c.count: "), "{told}");
}

#[test]
fn the_device_of_a_tunnel_stays_while_the_element_is_changed() {
    in_namespace(|| {
        if let Err(error) = sys::tap::Tap::open(&sys::tap::Options::tap("probe%d")) {
            return cannot_run(error);
        }
        let graphs = ["", ", BURST 4", ", BURST 4, MTU 1400"].map(|options| {
            format!(
                "t :: KernelTap(10.9.0.1/24, DEVNAME weir7{options}) -> Discard; Idle -> t;
                     f :: FromHost(weir8, 10.8.0.1/24{}) -> Discard; Idle -> ToHost(weir8);",
                options.replace("BURST 4", "HEADROOM 64")
            )
        });
        let graphs: Vec<&str> = graphs.iter().map(String::as_str).collect();
        let indexes = RefCell::new(Vec::new());
        let told = run(&graphs, &["t.dev_name", "f.dev_name"], |_, _| {
            indexes.borrow_mut().push(["weir7", "weir8"].map(|name| sys::link::index(name).unwrap()));
            true
        });
        assert_eq!(told, "t.dev_name: weir7\nf.dev_name: weir8\n");
        let indexes = indexes.into_inner();
        assert!(indexes.iter().all(|index| *index == indexes[0]), "{indexes:?}");
        assert_eq!(sys::link::mtu("weir7").err().map(|_| ()), Some(()), "it goes with the graph");
    });
}

#[test]
fn an_interface_is_read_on_by_the_element_that_takes_the_place() {
    let (reader, writer) = std::io::pipe().unwrap();
    let (_kept, out) = std::io::pipe().unwrap();
    let reader: File = sys::pipe::reopen_to_read(reader.as_fd()).unwrap();
    let out: File = sys::pipe::reopen_to_write(out.as_fd()).unwrap();
    let input = PipeIn::new(reader, "in".into()).unwrap();
    let output = PipeOut::new(out, "out".into(), Format::Pcap).unwrap();
    table::declare_made("succession", Box::new(input), Box::new(output)).unwrap();
    let feeder = std::thread::spawn(move || {
        let mut writer = writer;
        writer.write_all(lan()).unwrap();
    });
    let n_packets =
        testing::run(&format!("f :: FromDump({LAN}, STOP true) -> c :: Counter -> Discard"), &["c.count"]);
    let n_packets: u64 = n_packets.trim_start_matches("c.count: ").trim().parse().unwrap();
    let graph = |burst: u32| {
        format!("FromInterface(succession, BURST {burst}) -> c :: Counter -> Discard; Idle -> ToInterface(succession, BURST {burst})")
    };
    let told = run(&[&graph(1), &graph(2), &graph(3)], &["c.count"], |idx, world| {
        number(world, "c.count") >= [10, 20, n_packets][idx]
    });
    feeder.join().unwrap();
    assert_eq!(told, format!("c.count: {n_packets}\n"));
}
