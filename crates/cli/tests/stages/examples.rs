//! The examples of pipelines show what their pages say.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::process::{as_each_user, Place};

/// Runs an example as a user; what it printed.
fn run(place: &Place, name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    place.output(&format!("mkdir -p examples/{name} captures"));
    let capture = std::fs::read(root.join("captures/lan.pcap")).expect("the capture is there");
    place.write("captures/lan.pcap", capture);
    for entry in std::fs::read_dir(root.join("examples").join(name)).expect("the example is there") {
        let path = entry.expect("it can be read").path();
        let file = path.file_name().and_then(|file| file.to_str()).expect("names are text");
        let copy =
            place.write(&format!("examples/{name}/{file}"), std::fs::read(&path).expect("it is a file"));
        std::fs::set_permissions(copy, Permissions::from_mode(0o755)).expect("it can be changed");
    }
    place.output(&format!("examples/{name}/run"))
}

#[test]
fn a_service_chain_of_scripts_translates_and_filters() {
    as_each_user(|place| {
        let part = "client: the page says: hello from behind the chain\n\
                    client: port 81 is closed by the firewall\n\
                    server: the request came from 10.0.2.1\n";
        assert_eq!(run(place, "service-chain"), part);
    });
}

#[test]
fn grep_is_a_firewall() {
    as_each_user(|place| {
        let seen = run(place, "ascii-filter");
        let numbers: Vec<u32> = seen.split([' ', '\n']).filter_map(|word| word.parse().ok()).collect();
        let [n_dropped, n_all, 0, n_left] = *numbers.as_slice() else { panic!("{seen}") };
        assert!(n_dropped > 0 && n_left > 0 && n_dropped + n_left == n_all, "{seen}");
    });
}

#[test]
fn a_mirror_port_sees_what_goes_through_the_chain() {
    as_each_user(|place| {
        let seen = run(place, "port-mirror");
        assert!(seen.starts_with("the mirror saw 799 packets, the first three:\n"), "{seen}");
        assert!(seen.ends_with("the same went through the chain\n"), "{seen}");
    });
}
