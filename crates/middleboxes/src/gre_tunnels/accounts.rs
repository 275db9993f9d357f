//! The accounts of tunnels.

use element::Ctx;

use super::GreTunnels;
use crate::accounting::{Now, Record, Status};

impl GreTunnels {
    /// Begins the account of a tunnel.
    pub(super) fn begin(&mut self, idx: usize, now: Now) {
        let Some(tunnel) = self.tunnels.get_mut(idx) else { return };
        (tunnel.account, tunnel.began_ns) = (self.journal.next_account(now.wall_ns), now.steady_ns);
        self.record_one(idx, Status::Start, now);
    }

    /// Goes on with the tunnels of another element that are still here, and ends the accounts of the others.
    pub(super) fn go_on_from(&mut self, ctx: &mut Ctx<'_>, old: &mut GreTunnels, now: Now) {
        self.journal.go_on_from(&mut old.journal);
        let mut is_kept = vec![false; old.tunnels.len()];
        for idx in 0..self.tunnels.len() {
            let Some(tunnel) = self.tunnels.get_mut(idx) else { continue };
            let found = old.tunnels.iter().position(|old| old.is_same(tunnel));
            if let Some((known, is_kept)) =
                found.and_then(|at| Some((&old.tunnels[at], is_kept.get_mut(at)?)))
            {
                tunnel.go_on_from(known);
                (tunnel.account, tunnel.began_ns) = (known.account.clone(), known.began_ns);
                *is_kept = true;
            } else {
                self.begin(idx, now);
            }
        }
        std::mem::swap(&mut self.journal, &mut old.journal);
        for idx in (0..is_kept.len()).filter(|idx| !is_kept[*idx]) {
            old.record_one(idx, Status::Stop("Admin-Reset"), now);
        }
        std::mem::swap(&mut self.journal, &mut old.journal);
        self.journal.flush(ctx);
    }

    /// Writes a record of each tunnel.
    pub(super) fn record(&mut self, ctx: &mut Ctx<'_>, status: Status, now: Now) {
        (0..self.tunnels.len()).for_each(|idx| self.record_one(idx, status, now));
        self.journal.flush(ctx);
    }

    fn record_one(&mut self, idx: usize, status: Status, now: Now) {
        let Some(tunnel) = self.tunnels.get(idx) else { return };
        let texts = [
            ("User-Name", &tunnel.name[..]),
            ("Tunnel-Type", "GRE"),
            ("Tunnel-Client-Endpoint", &tunnel.header.destination.to_string()),
            ("Tunnel-Server-Endpoint", &self.local.to_string()),
            ("NAS-Port", &(idx + 1).to_string()),
        ];
        let (session, began_ns) = (&tunnel.account[..], tunnel.began_ns);
        let (up, down) = (&tunnel.up, &tunnel.down);
        self.journal.write(&Record { status, session, texts: &texts, began_ns, now, up, down });
    }
}
