//! Neighbours that break the rules of finding each other and of shared memory.

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::fcntl::{fcntl, FcntlArg, OFlag};
use nix::sys::memfd::{memfd_create, MFdFlags};
use socket2::{Domain, SockAddr, Socket, Type};
use sys::memfd::Memfd;
use sys::pipe::Kind;
use sys::poll::Waker;
use sys::unix::{recv_fds, send_fds};
use sys::vnet::VnetHeader;

use super::captures;
use super::process::{as_each_user, two_users, until, Finished, Place, Running};
use super::random::Random;

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const SWITCH: u8 = 3;
const CABLE: u8 = 4;
/// Kinds of messages beyond those above, and one that is none.
const OTHERS: [u8; 4] = [4, 5, 6, 255];
/// Bytes of a message.
const MESSAGE: usize = 32;
/// Bytes of each ring.
const CAPACITY: usize = 512 << 10;

/// A message as neighbours send it.
fn message(kind: u8, number: u64) -> Vec<u8> {
    let mut bytes = b"weir-2\n".to_vec();
    bytes.push(kind);
    bytes.extend(number.to_ne_bytes());
    bytes.resize(MESSAGE, 0);
    bytes
}

/// The address at which one end of a pipe listens.
fn address(pipe: impl AsFd, side: &str) -> SockAddr {
    SockAddr::unix(format!("\0{}", name(pipe, side))).expect("it is short")
}

fn name(pipe: impl AsFd, side: &str) -> String {
    let Ok(Kind::Pipe(id)) = sys::pipe::kind(pipe) else { panic!("it is a pipe") };
    format!("weir/pipe/{:x}:{:x}/{side}", id.device, id.inode)
}

fn socket() -> Socket {
    Socket::new(Domain::UNIX, Type::SEQPACKET, None).expect("sockets can be made")
}

/// Wakes whoever waits for an event counter.
fn ring_bell(bell: &OwnedFd) {
    let mut file = File::from(bell.try_clone().expect("one more"));
    file.write_all(&1u64.to_ne_bytes()).expect("it counts");
}

/// What a writer sends with HELLO.
struct Offer {
    pipe: OwnedFd,
    memory: OwnedFd,
    bells: Vec<OwnedFd>,
}

impl Offer {
    /// One that is as it should be.
    fn new(pipe: &PipeWriter) -> Offer {
        let memory =
            Memfd::create("rings", ring::pair_len(CAPACITY).expect("it is a size")).expect("there is room");
        let bell =
            || Waker::new().expect("descriptors are left").as_fd().try_clone_to_owned().expect("one more");
        Offer {
            pipe: sys::pipe::reference(pipe).expect("it is open"),
            memory: memory.as_fd().try_clone_to_owned().expect("one more"),
            bells: (0..4).map(|_| bell()).collect(),
        }
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        [&self.pipe, &self.memory].into_iter().chain(&self.bells).map(|fd| fd.as_fd()).collect()
    }
}

/// A stage that reads a pipe, and a false neighbour who writes to it.
struct Victim<'p> {
    place: &'p Place,
    stage: Running,
    to: PipeWriter,
    line: Socket,
}

impl<'p> Victim<'p> {
    fn start(place: &'p Place) -> Victim<'p> {
        let (input, to) = std::io::pipe().expect("pipes can be made");
        let mut command = place.command("weir");
        command.args(["write", "-"]).stdin(Stdio::from(input));
        let output = File::create(place.path("out.pcap")).expect("the folder is ours");
        let stage = Running::start_into(command, output, place, "the stage");
        let line = socket();
        let reader = address(&to, "reader");
        until("the stage listens", || line.connect(&reader).is_ok());
        Victim { place, stage, to, line }
    }

    fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
        // The stage may have hung up.
        let _ = send_fds(&self.line, bytes, fds);
    }

    /// Makes a sound offer, and waits for the answer.
    fn be_welcome(&self) -> Offer {
        let offer = Offer::new(&self.to);
        self.send(&message(HELLO, 0), &offer.fds());
        let mut bytes = [0; MESSAGE];
        let (n, fds) = recv_fds(&self.line, &mut bytes).expect("it answers");
        assert_eq!((n, bytes[7], fds.len()), (MESSAGE, WELCOME, 1));
        offer
    }

    /// Goes on in the pipe, as a writer who was refused does: all packets must come.
    #[track_caller]
    fn goes_on_in_the_pipe(self, what: &str) {
        let Victim { place, stage, mut to, line } = self;
        let mut bytes = captures::header();
        (0..3).for_each(|idx| captures::add_record(&mut bytes, &captures::packet(1, idx)));
        to.write_all(&bytes).expect("the stage reads");
        until(&format!("packets come through the pipe after {what}"), || {
            std::fs::metadata(place.path("out.pcap")).is_ok_and(|facts| facts.len() == bytes.len() as u64)
        });
        drop((to, line));
        let finished = stage.finish();
        assert!(finished.code == 0 && place.read("out.pcap") == bytes, "{what}: {finished:?}");
    }

    /// Leaves; the stage must end by itself, well or with a message.
    #[track_caller]
    fn ends(self, what: &str) -> Finished {
        drop((self.to, self.line));
        let finished = self.stage.finish();
        ends_in_order(&finished, what);
        finished
    }
}

#[track_caller]
fn ends_in_order(finished: &Finished, what: &str) {
    let is_well = finished.code == 0 || finished.code == 141;
    let is_told = finished.code == 1 && finished.stderr.starts_with("weir: ");
    assert!(is_well || is_told, "{what}: {finished:?}");
    assert!(!finished.stderr.contains("panicked"), "{what}: {finished:?}");
}

#[test]
fn whoever_talks_nonsense_is_left_with_the_pipe() {
    as_each_user(|place| {
        let with = |what: &str, talk: &dyn Fn(&Victim)| {
            let victim = Victim::start(place);
            talk(&victim);
            victim.goes_on_in_the_pipe(what);
        };
        with("silence", &|_| {});
        with("an empty message", &|victim| victim.send(&[], &[]));
        with("half a message", &|victim| victim.send(&message(HELLO, 0)[..5], &Offer::new(&victim.to).fds()));
        with("another magic", &|victim| victim.send(&[b'x'; MESSAGE], &Offer::new(&victim.to).fds()));
        with("SWITCH at once", &|victim| victim.send(&message(SWITCH, 0), &[]));
        for kind in OTHERS {
            with("another kind of message", &|victim| victim.send(&message(kind, 0), &[]));
        }
        with("HELLO twice", &|victim| {
            let offer = victim.be_welcome();
            victim.send(&message(HELLO, 0), &offer.fds());
        });
        with("an end of the talk", &|victim| {
            victim.be_welcome();
            victim.line.shutdown(std::net::Shutdown::Both).expect("it is open");
        });
    });
}

#[test]
fn whoever_is_silent_keeps_nobody_away() {
    as_each_user(|place| {
        let mut victim = Victim::start(place);
        let silent = std::mem::replace(&mut victim.line, socket());
        victim.line.connect(&address(&victim.to, "reader")).expect("the stage listens");
        victim.be_welcome();
        victim.goes_on_in_the_pipe("silence of another");
        drop(silent);
    });
}

#[test]
fn only_who_was_given_the_pipe_is_told_anything() {
    let Some([own, other]) = two_users() else { return };
    let (place, strange) = (Place::new(own), Place::new(other));
    let (from, output) = std::io::pipe().expect("pipes can be made");
    let addresses = ["writer", "reader"].map(|side| name(&from, side));
    let mut command = place.command("weir");
    command.args(["stage", "-e", "RatedSource(RATE 100) -> ToInterface(right)"]);
    let _stage = Running::start_into(command, output, &place, "the stage");
    let writer = address(&from, "writer");
    until("the stage listens", || socket().connect(&writer).is_ok());

    let stranger = strange.command("perl").args(["-MSocket", "-e", STRANGER]).args(addresses).output();
    let stranger = stranger.expect("there is perl");
    assert_eq!(String::from_utf8_lossy(&stranger.stdout), "0 bytes", "{stranger:?}");

    let mut command = strange.command("weir");
    command.arg("count").stdin(Stdio::from(from));
    let nowhere = File::create("/dev/null").expect("it is there");
    let _reader = Running::start_into(command, nowhere, &strange, "the reader");
    until("both are joined", || place.joints("RatedSource", 1) == ["right ring"]);
}

/// Listens in the reader's place, knocks at the writer's, and tells how much it says.
const STRANGER: &str = r#"
    my ($writer, $reader) = map { pack_sockaddr_un("\0$_") } @ARGV;
    sub line { socket(my $line, AF_UNIX, SOCK_SEQPACKET, 0) or die $!; $line }
    my ($here, $knock) = (line(), line());
    bind($here, $reader) && listen($here, 1) && connect($knock, $writer) or die $!;
    accept(my $writer_says, $here) or die $!;
    recv($writer_says, my $bytes, 64, 0) // die $!;
    print length($bytes), " bytes";
"#;

#[test]
fn a_neighbour_who_lets_bells_block_holds_nobody() {
    as_each_user(|place| {
        let victim = Victim::start(place);
        let offer = victim.be_welcome();
        for bell in &offer.bells {
            fcntl(bell, FcntlArg::F_SETFL(OFlag::empty())).expect("it is ours, too");
        }
        victim.send(&message(SWITCH, 0), &[]);
        // What is said afterwards is not listened to; nor does it hide that whoever said it has gone.
        victim.send(b"x", &[]);
        victim.ends("bells that block");
    });
}

#[test]
fn whoever_sends_wrong_descriptors_is_left_with_the_pipe() {
    as_each_user(|place| {
        let with = |what: &str, change: &dyn Fn(&mut Offer)| {
            let victim = Victim::start(place);
            let mut offer = Offer::new(&victim.to);
            change(&mut offer);
            victim.send(&message(HELLO, 0), &offer.fds());
            victim.goes_on_in_the_pipe(what);
        };
        let null = || OwnedFd::from(File::open("/dev/null").expect("it is there"));
        let sealed = |len| {
            let memory = Memfd::create("rings", len).expect("there is room");
            memory.as_fd().try_clone_to_owned().expect("one more")
        };
        with("no bells", &|offer| offer.bells.clear());
        with("too many bells", &|offer| offer.bells.extend((0..3).map(|_| null())));
        with("bells that are none", &|offer| offer.bells[2] = null());
        with("another pipe", &|offer| offer.pipe = std::io::pipe().expect("one more").1.into());
        with("no pipe", &|offer| offer.pipe = null());
        with("memory that is none", &|offer| offer.memory = null());
        with("memory that can shrink", &|offer| {
            let memory =
                File::from(memfd_create("rings", MFdFlags::MFD_ALLOW_SEALING).expect("it can be made"));
            memory.set_len(ring::pair_len(CAPACITY).expect("it is a size") as u64).expect("there is room");
            offer.memory = memory.into();
        });
        for len in [1, 4096, 8192, 3 << 20, ring::pair_len(CAPACITY).expect("it is a size") + 1, 1 << 36] {
            with(&format!("{len} bytes of memory"), &|offer| offer.memory = sealed(len));
        }
    });
}

#[test]
fn garbage_in_shared_memory_ends_a_reader_and_nothing_else() {
    as_each_user(|place| {
        for seed in 0..12 {
            let victim = Victim::start(place);
            let offer = victim.be_welcome();
            let memory = File::from(offer.memory.try_clone().expect("one more"));
            let len = memory.metadata().expect("it is open").len() as usize;
            let mut random = Random::new(seed);
            victim.send(&message(SWITCH, if seed == 0 { u64::MAX } else { 0 }), &[]);
            for _ in 0..60 {
                // The control words are at the beginning of each half; positions that are nearly right go furthest.
                let half = random.below(2) * len / 2;
                let (at, n) = match random.below(4) {
                    0 => (half + 8 * random.below(64), 8),
                    1 => (half + 128 * random.below(4), 8),
                    _ => (random.below(len - 4096), 1 + random.below(4096)),
                };
                let word =
                    if random.below(2) == 0 { random.next() } else { 8 * random.below(CAPACITY) as u64 };
                let bytes: Vec<u8> = word.to_ne_bytes().into_iter().cycle().take(n).collect();
                memory.write_all_at(&bytes, at as u64).expect("it can be written");
                let bell = random.below(4);
                ring_bell(&offer.bells[bell]);
            }
            victim.ends(&format!("garbage from seed {seed}"));
        }
    });
}

#[test]
fn work_that_packets_leave_to_be_done_may_be_nonsense() {
    as_each_user(|place| {
        let victim = Victim::start(place);
        let offer = victim.be_welcome();
        let memory =
            Memfd::from_received(offer.memory.try_clone().expect("one more"), 1 << 30).expect("it is sealed");
        let region = memory.map().expect("it can be mapped");
        let (mut producer, _consumer) =
            ring::ends(region, CAPACITY, ring::Side::First).expect("it is a pair");
        victim.send(&message(SWITCH, 0), &[]);
        let mut random = Random::new(3);
        let mut n = 0;
        while n < 300 {
            let word = random.next().to_ne_bytes();
            let short = |at: usize| u16::from(word[at]) << (random_shift(word[at + 1]));
            let vnet = VnetHeader {
                flags: word[0] & 3,
                gso_type: word[1] % 8,
                hdr_len: short(2),
                gso_size: short(3),
                csum_start: short(4),
                csum_offset: short(5),
                ..VnetHeader::default()
            };
            let packet = captures::packet(5, n);
            let header = ring::Header { wire_len: packet.len() as u32, timestamp_ns: 1, vnet };
            match producer.push(&header, &packet) {
                Ok(()) => n += 1,
                Err(_) => std::thread::yield_now(),
            }
            let _ = producer.publish();
            ring_bell(&offer.bells[0]);
        }
        let _ = producer.finish();
        ring_bell(&offer.bells[0]);
        let finished = victim.ends("nonsense to be done");
        assert_eq!(finished.code, 0, "{finished:?}");
    });
}

fn random_shift(byte: u8) -> u32 {
    if byte.is_multiple_of(2) {
        0
    } else {
        8
    }
}

/// Starts a stage that writes a capture of `n` packets into a pipe whose reader a false neighbour is, and waits for its HELLO.
fn writer(place: &Place, n: u64) -> (Running, PipeReader, Socket, Vec<OwnedFd>, Vec<u8>) {
    let (from, output) = std::io::pipe().expect("pipes can be made");
    let mut bytes = captures::header();
    (0..n).for_each(|idx| captures::add_record(&mut bytes, &captures::packet(9, idx)));
    place.write("in.pcap", &bytes);
    let listener = socket();
    listener.bind(&address(&from, "reader")).expect("nobody else has the pipe");
    listener.listen(1).expect("it is bound");
    let mut command = place.command("weir");
    command.args(["read", "in.pcap"]);
    let stage = Running::start_into(command, output, place, "the stage");
    let (line, _) = listener.accept().expect("it calls");
    let mut hello = [0; MESSAGE];
    let (n, fds) = recv_fds(&line, &mut hello).expect("it says something");
    assert_eq!((n, hello[7], fds.len()), (MESSAGE, HELLO, 6));
    (stage, from, line, fds, bytes)
}

#[test]
fn a_writer_whose_reader_talks_nonsense_stays_with_the_pipe() {
    as_each_user(|place| {
        let with = |what: &str, talk: &dyn Fn(&Socket, &[OwnedFd])| {
            let (stage, mut from, line, fds, sent) = writer(place, 6000);
            talk(&line, &fds);
            let mut received = Vec::new();
            from.read_to_end(&mut received).expect("it is a pipe");
            let finished = stage.finish();
            assert!(finished.code == 0 && received == sent, "{what}: {finished:?}");
        };
        let send = |line: &Socket, bytes: &[u8], fds: &[BorrowedFd<'_>]| {
            let _ = send_fds(line, bytes, fds);
        };
        with("silence", &|_, _| {});
        with("an end of the talk", &|line, _| line.shutdown(std::net::Shutdown::Both).expect("it is open"));
        with("WELCOME without a pipe", &|line, _| send(line, &message(WELCOME, 0), &[]));
        with("WELCOME with another pipe", &|line, fds| send(line, &message(WELCOME, 3), &[fds[1].as_fd()]));
        with("another magic", &|line, fds| send(line, &[0; MESSAGE], &[fds[0].as_fd()]));
        for kind in [HELLO, SWITCH].into_iter().chain(OTHERS) {
            with("another kind of message", &|line, fds| send(line, &message(kind, 0), &[fds[0].as_fd()]));
        }
    });
}

#[test]
fn garbage_in_shared_memory_ends_a_writer_and_nothing_else() {
    as_each_user(|place| {
        for seed in 0..6 {
            let (stage, from, line, fds, _) = writer(place, 6000);
            let memory = File::from(fds[1].try_clone().expect("one more"));
            let proof = sys::pipe::reference(&from).expect("it is open");
            send_fds(&line, &message(WELCOME, 0), &[proof.as_fd()]).expect("it listens");
            let mut random = Random::new(seed);
            let len = memory.metadata().expect("it is open").len() as usize;
            for _ in 0..60 {
                let half = random.below(2) * len / 2;
                let bytes = random.next().to_ne_bytes();
                memory.write_all_at(&bytes, (half + 8 * random.below(64)) as u64).expect("it can be written");
                for bell in &fds[2..] {
                    ring_bell(bell);
                }
            }
            drop((from, line));
            ends_in_order(&stage.finish(), &format!("garbage from seed {seed}"));
        }
    });
}

/// It says that it has joined both stacks, and hangs up without ending.
#[test]
fn a_neighbour_that_takes_long_to_leave_keeps_a_stack_from_no_other() {
    as_each_user(|place| {
        let ((input, to), (from, output)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        let mut command = place.command("weir");
        let words = ["linux", "--left", "10.0.0.1/24", "--right", "10.1.0.1/24", "--", "sleep", "100"];
        command.args(words).stdin(Stdio::from(input));
        let stack = Running::start_into(command, output, place, "the stack");
        let line = socket();
        until("the stack listens", || line.connect(&address(&to, "reader")).is_ok());
        send_fds(&line, &message(HELLO, 0), &Offer::new(&to).fds()).expect("it listens");
        let mut bytes = [0; MESSAGE];
        recv_fds(&line, &mut bytes).expect("it answers");
        assert_eq!(bytes[7], WELCOME);
        send_fds(&line, &message(CABLE, 0), &[]).expect("it listens");
        let is_joined = |joint: &str| place.joints("linux", 2).iter().any(|one| one == joint);
        until("it believes that", || is_joined("left cable"));
        drop(line);
        let begin = Instant::now();
        let mut command = place.command("weir");
        command.args(["linux", "--left", "10.1.0.2/24", "--", "sleep", "100"]).stdin(Stdio::from(from));
        let other = Running::start_into(command, Stdio::null(), place, "another stack");
        until("it is joined", || is_joined("right cable") || is_joined("right pump"));
        assert!(begin.elapsed() < Duration::from_secs(30), "it has waited");
        drop((stack, other, to));
    });
}
