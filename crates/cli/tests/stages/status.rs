//! What `weir status` lists, and when stages answer.

use super::captures;
use super::process::{as_each_user, until, Place, Running};

/// Starts a stage and waits until it can be seen.
fn start(place: &Place, n: usize, script: &str) -> Running {
    let stage = place.start(script);
    until("it can be seen", || place.status().len() == n);
    stage
}

#[test]
fn stages_are_listed_from_left_to_right_and_one_chain_after_the_other() {
    for plain in ["", "--plain"] {
        as_each_user(|place| {
            place.output("mkfifo a b c");
            // The right ends first, and one chain in the middle of the other.
            let write = start(place, 1, &format!("exec weir write out --if left=fifo:b {plain} < /dev/null"));
            let print =
                start(place, 2, &format!("exec weir print --if left=fifo:c {plain} < /dev/null > text"));
            let count =
                start(place, 3, &format!("exec weir count --if left=fifo:a --if right=fifo:b {plain}"));
            let source =
                "RatedSource(RATE 100) -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToInterface(right)";
            let tee = start(
                place,
                4,
                &format!("exec weir stage --if right=fifo:c {plain} -e '{source}' < /dev/null"),
            );
            let stage = start(
                place,
                5,
                &format!("exec weir stage --if right=fifo:a {plain} -e '{source}' < /dev/null"),
            );
            let due = [stage.id(), count.id(), write.id(), tee.id(), print.id()];
            let ids = || place.status().iter().filter_map(|stage| stage["id"].as_u64()).collect::<Vec<_>>();
            until("they are in order", || ids() == due.map(u64::from));
            let listed = |text: String| {
                let id = |line: &str| line.split(' ').next()?.parse::<u32>().ok();
                text.lines().filter_map(id).collect::<Vec<u32>>()
            };
            assert_eq!(listed(place.output("weir status")), due);
            if plain.is_empty() {
                // One that does not answer is where its neighbours say.
                let id = count.id();
                let text = place.output(&format!("kill -STOP {id}; weir status; kill -CONT {id}"));
                assert_eq!(listed(text), due);
            }
            drop((write, print, count, tee, stage));
        });
    }
}

/// Packets that are made as fast as they can be, once they may, each with its time.
const SOURCE: &str = "s :: RatedSource(RATE 1000000, LIMIT 50000, LENGTH 60, ACTIVE false, STOP true) -> c :: Counter -> n :: SetTimestamp -> StoreTimestamp(20) \
                      -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToInterface(right)";

#[test]
fn a_source_whose_neighbour_does_not_read_answers_and_is_changed() {
    for plain in ["", "--plain"] {
        as_each_user(|place| {
            place.output("mkfifo go");
            let chain = place.start(&format!(
                "(echo $BASHPID > source; exec weir stage {plain} -e '{SOURCE}' < /dev/null) | weir count {plain} | \
                 (read -r word < go; exec cat > out.pcap); echo ${{PIPESTATUS[@]}}"
            ));
            let source = place.number("source");
            until("both run", || place.status().len() == 2);
            if plain.is_empty() {
                place.await_rings(2);
            }
            place.output(&format!("weir handler -g stage-{source} write s.active true"));
            let waiting = || {
                let status = place.status();
                status.first().and_then(|stage| stage["interfaces"][0]["waiting"].as_u64())
            };
            until("it waits for room", || waiting() > Some(4096));
            let count = || place.output(&format!("weir handler -g stage-{source} read c.count"));
            let (before, n_waiting) = (count(), waiting());
            let told = place.run(&format!("weir status {source}"));
            assert!(told.code == 0 && told.stderr.is_empty(), "{told:?}");
            place.output(&format!("weir live stage-{source} add between Null --between c n"));
            assert_eq!((count(), waiting()), (before, n_waiting));
            if plain.is_empty() {
                place.output(&format!("weir insert --after {source} filter not arp"));
            }
            place.output("echo > go");
            let finished = chain.finish();
            assert_eq!(finished.stdout, "0 0 0\n", "{finished:?}");
            let capture = place.read("out.pcap");
            let packets = captures::packets(&capture);
            assert_eq!(packets.len(), 50_000, "{finished:?}");
            let time =
                |packet: &&[u8]| i64::from_ne_bytes(packet[34..42].try_into().expect("it is long enough"));
            assert!(packets.is_sorted_by_key(time));
        });
    }
}

#[test]
fn a_source_whose_neighbour_does_not_read_ends_when_it_is_asked_to() {
    as_each_user(|place| {
        let chain = place.start(&format!(
            "weir stage -e '{}' < /dev/null | sleep 100; echo ${{PIPESTATUS[0]}}",
            SOURCE.replace("ACTIVE false, ", "")
        ));
        until("it waits for room", || {
            let status = place.status();
            status.first().and_then(|stage| stage["interfaces"][0]["waiting"].as_u64()) > Some(4096)
        });
        let id = place.status()[0]["id"].as_u64().expect("it has a number");
        place.output(&format!("kill -TERM {id}; until ! kill -0 {id} 2> /dev/null; do sleep 0.01; done"));
        assert!(chain.stderr().contains("packets that it still held are lost"), "{}", chain.stderr());
    });
}

#[test]
fn what_waits_at_one_output_does_not_wait_for_another_that_nobody_reads() {
    as_each_user(|place| {
        place.output("mkfifo copy first second");
        let graph = SOURCE
            .replace("ACTIVE false, ", "")
            .replace("-> ToInterface(right)", "-> t :: Tee -> ToInterface(right); t[1] -> ToInterface(copy)");
        let chain = place.start(&format!(
            "exec 3<>copy; weir stage --if copy=fifo:copy -e '{graph}' < /dev/null | (read -r word < first; head -c 100000 > /dev/null; \
             read -r word < second; exec cat > /dev/null)"
        ));
        let waiting = |idx: usize| {
            let status = place.status();
            status.first().and_then(|stage| stage["interfaces"][idx]["waiting"].as_u64())
        };
        // The first that has too many stops the source: the other may have a few less.
        let are_full = |(a, b): (u64, u64)| a.max(b) > 4096 && a.min(b) > 3000;
        until("both wait for room", || waiting(0).zip(waiting(1)).is_some_and(are_full));
        let before = waiting(0).expect("it answers");
        place.output("echo > first");
        until("some of one has gone", || waiting(0).is_some_and(|n| n + 500 < before));
        place.output("echo > second");
        until("all of one has gone", || waiting(0) == Some(0));
        assert!(waiting(1).is_some_and(|n| n > 3000));
        drop(chain);
    });
}
