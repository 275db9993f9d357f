//! Where lines for the user go: to whoever runs the graph, and to those elements that listen.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use element::{spoken, Ear};

/// Prints lines for the user.
pub type Chatter = Box<dyn FnMut(&str) + Send>;

/// Hears what an element prints: the element's name, a line or several, and whether they are about something at which it failed.
pub type Hear = Box<dyn FnMut(&str, &str, bool) + Send>;

/// A way to the user that several worlds share: whole lines, one after the other.
#[derive(Clone)]
pub(crate) struct Voice(Arc<Mutex<Channels>>);

struct Channels {
    print: Chatter,
    /// What is printed later, if it is held back.
    held: Option<Vec<String>>,
    /// Takes what elements print, if somebody wants to have it.
    hear: Option<Hear>,
    /// Those who listen to what is printed anyway.
    ears: Vec<Ear>,
    others: Vec<Channel>,
}

/// A channel for what only some want to hear.
struct Channel {
    name: String,
    /// Whether what is said on it is not printed.
    is_quiet: bool,
    ears: Vec<Ear>,
}

impl Voice {
    pub fn new(print: Chatter) -> Voice {
        Voice(Arc::new(Mutex::new(Channels {
            print,
            held: None,
            hear: None,
            ears: Vec::new(),
            others: Vec::new(),
        })))
    }

    /// Prints text, a line or several.
    pub fn say(&self, text: &str) {
        let text = spoken(text);
        let channels = &mut *self.lock();
        channels.print(&text);
        tell(&mut channels.ears, &text);
    }

    /// Holds back what is to be printed, until `release`.
    pub fn hold(&self) {
        self.lock().held.get_or_insert_default();
    }

    /// What was held back since this was last asked.
    pub fn take_held(&self) -> Vec<String> {
        self.lock().held.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Prints what comes from now on.
    pub fn release(&self) {
        self.lock().held = None;
    }

    /// Prints text that an element says, about a failure or not.
    pub fn say_as(&self, element: &str, text: &str, is_failure: bool) {
        let text = spoken(text);
        let channels = &mut *self.lock();
        channels.say(element, &text, is_failure);
        tell(&mut channels.ears, &text);
    }

    /// Gives what elements print to `hear` instead.
    pub fn give(&self, hear: Hear) {
        self.lock().hear = Some(hear);
    }

    /// Lets an element say text on a channel; one that nobody has opened is silent.
    pub fn say_on(&self, element: &str, name: &str, text: &str) {
        if is_default(name) {
            return self.say_as(element, text, false);
        }
        let text = spoken(text);
        let channels = &mut *self.lock();
        let Some(idx) = channels.others.iter().position(|channel| channel.name == name) else { return };
        if !channels.others[idx].is_quiet {
            channels.say(element, &text, false);
        }
        tell(&mut channels.others[idx].ears, &text);
    }

    /// Lets `ear` hear all that is said on a channel from now on; who opens a channel says whether it is quiet.
    pub fn listen(&self, name: &str, is_quiet: bool, ear: Ear) {
        let channels = &mut *self.lock();
        if is_default(name) {
            channels.ears.push(ear);
        } else if let Some(channel) = channels.others.iter_mut().find(|channel| channel.name == name) {
            channel.ears.push(ear);
        } else {
            channels.others.push(Channel { name: name.to_string(), is_quiet, ears: vec![ear] });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channels {
    fn say(&mut self, element: &str, text: &str, is_failure: bool) {
        match &mut self.hear {
            Some(hear) => hear(element, text, is_failure),
            None => self.print(text),
        }
    }

    fn print(&mut self, text: &str) {
        match &mut self.held {
            Some(held) => held.push(text.to_string()),
            None => (self.print)(text),
        }
    }
}

fn is_default(name: &str) -> bool {
    matches!(name, "" | "default")
}

fn tell(ears: &mut Vec<Ear>, text: &str) {
    ears.retain_mut(|ear| ear(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_has_listeners_of_its_own_and_may_be_printed() {
        let heard = Arc::new(Mutex::new(String::new()));
        let ear = |name: &'static str| {
            let heard = heard.clone();
            move |text: &str| *heard.lock().unwrap() += &format!("{name}:{text} ")
        };
        let lasting = |name| -> Ear {
            let ear = ear(name);
            Box::new(move |text| {
                ear(text);
                true
            })
        };
        let voice = Voice::new(Box::new(ear("user")));
        voice.listen("default", true, lasting("all"));
        voice.listen("quiet", true, lasting("quiet"));
        voice.listen("loud", false, lasting("loud"));
        voice.say("1");
        voice.say_on("e", "", "2");
        voice.say_on("e", "quiet", "3");
        voice.say_on("e", "loud", "4");
        voice.say_on("e", "nobody", "5");
        assert_eq!(*heard.lock().unwrap(), "user:1 all:1 user:2 all:2 quiet:3 user:4 loud:4 ");
    }

    #[test]
    fn what_elements_print_goes_to_who_wants_to_have_it() {
        let heard = Arc::new(Mutex::new(String::new()));
        let hear = |name: &'static str| {
            let heard = heard.clone();
            move |element: &str, text: &str, is_failure: bool| {
                let mark = if is_failure { "!" } else { "" };
                *heard.lock().unwrap() += &format!("{name}:{element}:{mark}{text} ");
            }
        };
        let print = hear("user");
        let voice = Voice::new(Box::new(move |text| print("", text, false)));
        voice.say_as("a", "1", true);
        voice.give(Box::new(hear("log")));
        voice.say_as("a", "2", true);
        voice.say_on("b", "default", "3");
        voice.say("4");
        assert_eq!(*heard.lock().unwrap(), "user::1 log:a:!2 log:b:3 user::4 ");
    }

    #[test]
    fn who_no_longer_listens_is_forgotten() {
        let count = Arc::new(Mutex::new(0));
        let counted = count.clone();
        let voice = Voice::new(Box::new(|_| {}));
        voice.listen(
            "",
            true,
            Box::new(move |_| {
                *counted.lock().unwrap() += 1;
                false
            }),
        );
        voice.say("1");
        voice.say("2");
        assert_eq!(*count.lock().unwrap(), 1);
    }
}
