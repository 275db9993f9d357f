//! A network device of the host's kernel, whose Ethernet frames come from and go to the graph.
//!
//! Makes a tap device with address ADDR. What the kernel sends through it is emitted; what arrives at the input, Ethernet
//! frames, the kernel receives. The kernel asks for its neighbours' addresses with ARP, which the graph must answer. Packets
//! whose segmentation or checksum the kernel left undone come whole, with that as their metadata, unless OFFLOAD is false.
//!
//! ```click
//! tap :: KernelTap(10.0.0.1/8, ETHER 2:0:0:0:0:1) -> c :: Classifier(12/0806, -);
//! c[0] -> ARPResponder(0.0.0.0/0 2:0:0:0:0:2) -> tap;
//! c[1] -> Discard;
//! ```

use element::{Batch, Class, Configure, Ctx, Element, Failed, Phase, Ready, Role, TaskId};
use sys::tap::Kind;

use crate::tunnel::{Tunnel, ARGS, DROPS, HANDLERS};

/// The class. Devices are opened while the process may.
pub const CLASS: Class = Class::new::<KernelTap>("KernelTap", "0-1/1-2", "a/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .phase(Phase(Phase::PRIVILEGED.0 - 1))
    .role(Role::Input);

/// See the page above.
pub struct KernelTap(Tunnel);

impl Element for KernelTap {
    fn configure(conf: &mut Configure<'_>) -> Result<KernelTap, Failed> {
        Tunnel::configure(conf, "KernelTap", Kind::Tap).map(KernelTap)
    }

    crate::tunnel::methods!();
}
