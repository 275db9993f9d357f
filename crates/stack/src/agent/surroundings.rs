//! What a program finds around it: its own `/proc` and `/sys`, and a network that forwards and keeps quiet.

use std::path::Path;

use sys::namespace;

use crate::Options;

/// Mounts what shows the new namespaces.
pub(super) fn mount(options: &Options) -> sys::Result<()> {
    namespace::keep_mounts_private()?;
    // A container whose /proc is partly covered lets no user namespace mount another; the old ones serve as well, as
    // what they show of the network follows whoever looks.
    let _ = namespace::mount("proc", Path::new("/proc"));
    let _ = namespace::mount("sysfs", Path::new("/sys"));
    match &options.resolv_conf {
        Some(file) => namespace::bind(file, Path::new("/etc/resolv.conf")),
        None => Ok(()),
    }
}

/// Settings of the network that have to be there before its devices are.
pub(super) fn set_network(options: &Options) -> Result<(), String> {
    // Written either way: a namespace may begin as the machine's own is set.
    let forwarding = if options.forwarding { "1" } else { "0" };
    write("ipv4/ip_forward", forwarding)?;
    if !Path::new("/proc/sys/net/ipv6").exists() {
        return Ok(());
    }
    write("ipv6/conf/all/forwarding", forwarding)?;
    // Addresses shall be usable at once, and nobody asks a stage's cables for routers.
    write("ipv6/conf/default/accept_dad", "0")?;
    write("ipv6/conf/default/router_solicitations", "0")
}

/// Keeps a namespace that only holds the ends of cables from sending anything by itself.
pub(super) fn silence() {
    for which in ["all", "default"] {
        // Without IPv6 there is nothing to silence.
        let _ = write(&format!("ipv6/conf/{which}/disable_ipv6"), "1");
    }
}

fn write(setting: &str, value: &str) -> Result<(), String> {
    let path = format!("/proc/sys/net/{setting}");
    std::fs::write(&path, value).map_err(|e| format!("{path}: {e}"))
}
