//! A network device of the host's kernel, whose IP packets come from and go to the graph.
//!
//! Makes a tun device with address ADDR. What the kernel sends through it is emitted; what arrives at the input, IP packets whose
//! network header is marked, the kernel receives. What is not IP leaves by output 1. Packets whose segmentation or checksum the
//! kernel left undone come whole, with that as their metadata, unless OFFLOAD is false.
//!
//! ```click
//! tun :: KernelTun(10.0.0.1/8) -> IPPrint -> Discard;
//! ```

use element::{Batch, Class, Configure, Ctx, Element, Failed, Phase, Ready, Role, TaskId};
use sys::tap::Kind;

use crate::tunnel::{Tunnel, ARGS, DROPS, HANDLERS};

/// The class. Devices are opened while the process may.
pub const CLASS: Class = Class::new::<KernelTun>("KernelTun", "0-1/1-2", "a/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .phase(Phase(Phase::PRIVILEGED.0 - 1))
    .role(Role::Input);

/// See the page above.
pub struct KernelTun(Tunnel);

impl Element for KernelTun {
    fn configure(conf: &mut Configure<'_>) -> Result<KernelTun, Failed> {
        Tunnel::configure(conf, "KernelTun", Kind::Tun).map(KernelTun)
    }

    crate::tunnel::methods!();
}
