//! A source of one TCP packet whose segmentation and checksum are still to be done, for tests.

use element::{Class, Configure, Ctx, Element, Failed, Packet, TaskId};
use packet::{Gso, Offload};

/// The class.
pub const CLASS: Class = Class::new::<OffloadSource>("OffloadSource", "0/1", "h/h", "x/x");

pub struct OffloadSource;

impl Element for OffloadSource {
    fn configure(conf: &mut Configure<'_>) -> Result<OffloadSource, Failed> {
        conf.finish()?;
        Ok(OffloadSource)
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let task = ctx.new_task();
        ctx.schedule(task);
        Ok(())
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        let len = (40 + 4000u16).to_be_bytes();
        bytes.extend([0x45, 0, len[0], len[1], 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let sum = wire::checksum::checksum(&bytes[14..34]).to_be_bytes();
        bytes[24..26].copy_from_slice(&sum);
        bytes.extend([0, 80, 0, 81, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
        bytes.extend([5; 4000]);
        let pseudo = wire::checksum::pseudo_ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 6, 4020);
        bytes[50..52].copy_from_slice(&pseudo.to_be_bytes());
        let mut packet = Packet::from_bytes(&bytes);
        packet.set_offload(Offload {
            needs_checksum: true,
            gso: Gso::TcpV4,
            header_len: 54,
            gso_size: 1460,
            checksum_start: 34,
            checksum_offset: 16,
            ..Offload::default()
        });
        ctx.emit_packet(0, packet);
        true
    }
}
