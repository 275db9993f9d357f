//! The ways that packets may go together: where nothing shows that they did not go one by one, as they do in Click.

use element::{Causes, ElementIdx};

use crate::world::World;

/// How packets may go that a task of an element moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One by one: it may show that they did not.
    OneByOne,
    /// Those of one run of the task together: each element meets them in the same order.
    Together,
    /// Those of several runs together: they wake nobody who would run between.
    InARow,
}

/// What is found out about a way.
struct Search<'a> {
    world: &'a World,
    found: Vec<bool>,
    /// Elements whose neighbours are still to be looked at, and whether packets that leave them may be copies.
    next: Vec<(ElementIdx, bool)>,
    way: Way,
    /// Elements that change what they share with others.
    n_changing: u32,
}

/// How a search comes to an element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Push,
    Pull,
}

impl World {
    /// How packets may go that a task of an element moves, where moving them causes `own`. It is found out when it is first asked for.
    #[inline]
    pub(crate) fn way(&mut self, element: ElementIdx, own: Causes) -> Way {
        match self.wiring.ways.get(element) {
            Some(Some(way)) => *way,
            _ => self.find_way(element, own),
        }
    }

    #[cold]
    fn find_way(&mut self, element: ElementIdx, own: Causes) -> Way {
        let n_elements = self.slots.len();
        let mut search = Search {
            world: self,
            found: vec![false; n_elements],
            next: vec![(element, false)],
            way: Way::InARow,
            n_changing: 0,
        };
        search.add(own);
        let way = search.run().unwrap_or(Way::OneByOne);
        self.wiring.ways.resize(n_elements, None);
        if let Some(place) = self.wiring.ways.get_mut(element) {
            *place = Some(way);
        }
        way
    }
}

impl Search<'_> {
    /// Looks at all elements that packets come from and go to, as far as those that store them. `None` if they must go one by one.
    fn run(&mut self) -> Option<Way> {
        let (begin, _) = *self.next.first()?;
        *self.found.get_mut(begin)? = true;
        while let Some((element, copies)) = self.next.pop() {
            let (n_inputs, n_outputs) = self.world.wiring.n_ports(element);
            for port in (0..n_outputs).filter(|port| self.world.wiring.output_is_push(element, *port)) {
                let next = self.world.wiring.downstream(element, port);
                next.into_iter().try_for_each(|(next, _)| self.meet(next, Step::Push, copies))?;
            }
            for port in (0..n_inputs).filter(|port| !self.world.wiring.input_is_push(element, *port)) {
                let next = self.world.wiring.upstream(element, port);
                next.into_iter().try_for_each(|(next, _)| self.meet(next, Step::Pull, copies))?;
            }
        }
        // Two elements change in another order what they share.
        (self.n_changing <= 1).then_some(self.way)
    }

    /// Comes to an element by one of its ports.
    fn meet(&mut self, element: ElementIdx, step: Step, copies: bool) -> Option<()> {
        let class = self.world.classes.get(element)?;
        if std::mem::replace(self.found.get_mut(element)?, true) {
            // By two ways packets come in another order.
            let is_end = self.world.wiring.n_ports(element).1 == 0;
            return (is_end && !class.shows_order && class.causes == Causes::NOTHING).then_some(());
        }
        let causes = self.world.slots.get(element)?.as_ref()?.causes(class.causes);
        // What happens to packets before the task has them happens before all that it does with the first.
        let has_more = causes.include(Causes::LINES) || self.world.wiring.n_ports(element).1 > 1;
        let shows_before = step == Step::Pull && has_more && !causes.include(Causes::WAKEUPS);
        // Lines about copies have no place among the others.
        let misplaces = copies && causes.include(Causes::LINES);
        if causes == Causes::ANYTHING || shows_before || misplaces {
            return None;
        }
        self.add(causes);
        self.next.push((element, copies || causes.include(Causes::COPIES)));
        Some(())
    }

    fn add(&mut self, causes: Causes) {
        if causes.include(Causes::WAKEUPS) {
            self.way = Way::Together;
        }
        self.n_changing += u32::from(causes.include(Causes::CHANGES));
    }
}
