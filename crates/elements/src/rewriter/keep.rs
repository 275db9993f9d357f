//! Mappings that outlive the process.
//!
//! A line is: map, input, protocol; source and destination of the flow as it arrives, and as it leaves; the two
//! outputs; state; reply annotation; for how many milliseconds it is guaranteed, and how many are left of it in all. If
//! its sequence numbers are shifted, steps follow: for each direction what is added, and from which number on, or `-`.

use std::net::Ipv4Addr;

use element::{Ctx, Saved, SavedLine, SAVED_AT_A_TIME};

use super::base::{now_ms, Base};
use super::flow::Flow;
use super::flow_id::FlowId;
use super::sequence::{Shift, Shifts};
use super::style::Look;

impl Base {
    /// Saves some mappings of its own.
    pub fn save_state(&self, ctx: &mut Ctx<'_>, from: usize) -> Saved {
        let set = self.set.lock();
        let now_ms = now_ms(ctx);
        let owned = self.first_owner..self.first_owner + self.inputs.len() as u32;
        let (mut lines, end) = (Vec::new(), from + SAVED_AT_A_TIME);
        for (link, flow) in set.numbered(from..end).filter(|(_, flow)| owned.contains(&flow.owner)) {
            let map = self.spaces.iter().position(|space| *space == flow.space);
            let Some(map) = map else { continue };
            let (guaranteed_ms, end_ms) = match flow.is_guaranteed {
                true => (flow.expiry_ms - now_ms, self.timeouts[map].best_effort_expiry(flow)),
                false => (0, flow.expiry_ms),
            };
            if end_ms > now_ms {
                let input = flow.owner - self.first_owner;
                lines.push(format!(
                    "{map} {input} {} {} {}{}",
                    words(flow),
                    guaranteed_ms.max(0),
                    end_ms - now_ms,
                    set.shifts(link).map_or(String::new(), shift_words)
                ));
            }
        }
        Saved { lines, next: (end < set.n_numbers()).then_some(end) }
    }

    /// Takes a mapping that was saved.
    pub fn restore_state(&mut self, ctx: &mut Ctx<'_>, line: &str, passed_ms: i64) -> Result<(), String> {
        let mut line = SavedLine::new(line);
        let (map, input, protocol): (u8, usize, u8) = (line.field()?, line.field()?, line.field()?);
        let (id, rewritten) = (id_of(&mut line)?, id_of(&mut line)?);
        let outputs: [u16; 2] = [line.field()?, line.field()?];
        let (state, reply_anno): (u8, u8) = (line.field()?, line.field()?);
        let [guaranteed_ms, left_ms]: [i64; 2] = [line.field()?, line.field()?];
        let steps = steps_of(&mut line)?;
        let [guaranteed_ms, left_ms] = [guaranteed_ms, left_ms].map(|time| time.saturating_sub(passed_ms));
        if left_ms <= 0 {
            return Ok(());
        }
        if input >= self.inputs.len() || usize::from(map) >= self.spaces.len() {
            return Err(format!("there is no input {input}"));
        }
        let look = Look { id, map, protocol, may_begin: true };
        let new = self.new_flow(&look, rewritten, outputs, input);
        let new = new.ok_or("the mapping does not fit the rewriter any more")?;
        let now_ms = now_ms(ctx);
        let mut set = self.set.lock();
        if set.find(&id, new.space).is_some() || set.find(&rewritten.reverse(), new.space).is_some() {
            return Err("the flow has another mapping already".to_string());
        }
        let link = set.store(&new, now_ms).ok_or("there are too many mappings")?;
        if let Some(flow) = set.flow_mut(link) {
            (flow.state, flow.reply_anno) = (state, reply_anno);
        }
        if !steps.is_empty() {
            set.set_shifts(link, Shifts::of_steps(&steps));
        }
        let is_guaranteed = guaranteed_ms > 0;
        let lasts_ms = if is_guaranteed { guaranteed_ms } else { left_ms };
        set.set_expiry(link >> 1, is_guaranteed, now_ms.saturating_add(lasts_ms));
        Ok(())
    }
}

/// Protocol, identifiers, outputs, state and annotation of a flow.
fn words(flow: &Flow) -> String {
    let id = |id: FlowId| {
        let (src, dst) = (Ipv4Addr::from_bits(id.src), Ipv4Addr::from_bits(id.dst));
        format!("{src} {} {dst} {}", id.sport, id.dport)
    };
    let Flow { protocol, state, reply_anno, outputs: [out, back], .. } = flow;
    let (arrives, leaves) = (id(flow.ids[0]), id(flow.ids[1].reverse()));
    format!("{protocol} {arrives} {leaves} {out} {back} {state} {reply_anno}")
}

/// Shifts of sequence numbers, a space in front of each word.
fn shift_words(shifts: &Shifts) -> String {
    let one =
        |(delta, from): Shift| format!(" {delta} {}", from.map_or("-".to_string(), |from| from.to_string()));
    shifts.steps().flatten().map(one).collect()
}

/// Reads the steps of shifts, as many as there are.
fn steps_of(line: &mut SavedLine<'_>) -> Result<Vec<[Shift; 2]>, String> {
    let one = |line: &mut SavedLine<'_>| {
        let (delta, from): (i32, String) = (line.field()?, line.field()?);
        let number = from.parse().map_err(|_| format!("`{from}` in a saved line is no sequence number"));
        Ok::<_, String>((delta, if from == "-" { None } else { Some(number?) }))
    };
    let mut steps = Vec::new();
    while line.has_more() {
        steps.push([one(line)?, one(line)?]);
    }
    Ok(steps)
}

fn id_of(line: &mut SavedLine<'_>) -> Result<FlowId, String> {
    let (src, sport): (Ipv4Addr, u16) = (line.field()?, line.field()?);
    let (dst, dport): (Ipv4Addr, u16) = (line.field()?, line.field()?);
    Ok(FlowId { src: src.to_bits(), dst: dst.to_bits(), sport, dport })
}
