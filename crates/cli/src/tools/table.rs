//! The tools and their options.

use super::{graphs, parts, run, Tool};
use crate::clp::Opt;

const FILE: Opt = Opt::with("file", 'f', "FILE", "Read router configuration from FILE.");
const EXPRESSION: Opt = Opt::with("expression", 'e', "EXPR", "Use EXPR as router configuration.");
const OUTPUT: Opt = Opt::with("output", 'o', "FILE", "Write output to FILE.");
const CLICKPATH: Opt = Opt::with("clickpath", 'C', "PATH", "Use PATH for CLICKPATH.");
const CONFIG: Opt = Opt::flag("config", 'c', "Write the configuration only, not an archive.");
const VERBOSE: Opt = Opt::flag("verbose", 'V', "Print what is done.").negatable();
const LINUXMODULE: Opt = Opt::flag("linuxmodule", 'l', "Take the Linux kernel driver (weir has none).");
const BSDMODULE: Opt = Opt::flag("bsdmodule", 'b', "Take the FreeBSD kernel driver (weir has none).");
const USERLEVEL: Opt = Opt::flag("userlevel", 'u', "Take the user-level driver.");
const KERNEL: Opt = Opt::flag("kernel", 'k', "Take the Linux kernel driver (weir has none).");
const USER: Opt = Opt::flag("user", 'u', "Take the user-level driver.");
const REVERSE: Opt = Opt::flag("reverse", 'r', "Undo the transformation.").negatable();
const SOURCE: Opt = Opt::flag("source", 's', "Write source code only: there is none.").negatable();

/// All tools.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "flatten",
        about: "Expands the compound elements of a configuration",
        words: "[ROUTERFILE]",
        options: &[
            FILE,
            EXPRESSION,
            OUTPUT,
            CLICKPATH,
            Opt::flag("classes", 'c', "Print the classes that the configuration uses."),
            Opt::flag("declarations", 'd', "Print the declarations of the flat configuration."),
            Opt::flag("decls", 'd', "Print the declarations of the flat configuration."),
            Opt::flag("names", 'n', "Print the names of the elements."),
            Opt::flag("elements", 'n', "Print the names of the elements."),
            Opt::flag("config", '\0', "Write the configuration only, not an archive."),
            Opt::flag("expand-vars", '\0', "Put in the values of variables.").negatable(),
        ],
        is_named: true,
        run: run::flatten,
    },
    Tool {
        name: "check",
        about: "Checks a configuration and reports what is wrong with it",
        words: "[ROUTERFILE]",
        options: &[
            FILE,
            EXPRESSION,
            OUTPUT,
            CLICKPATH,
            Opt::flag("filter", 'p', "Write the configuration to the standard output if it is right."),
            LINUXMODULE.negatable(),
            KERNEL.negatable(),
            BSDMODULE.negatable(),
            USERLEVEL.negatable(),
            Opt::flag("quiet", 'q', "Do not say that all is right.").negatable(),
        ],
        is_named: true,
        run: run::check,
    },
    Tool {
        name: "pretty",
        about: "Writes an HTML page about a configuration",
        words: "[ROUTERFILE]",
        options: &[
            FILE,
            EXPRESSION,
            OUTPUT,
            CLICKPATH,
            Opt::with("template", 't', "FILE", "Take FILE as the page's template."),
            Opt::with("template-text", 'T', "TEXT", "Take TEXT as the page's template."),
            Opt::with("define", 'd', "NAME=TEXT", "Let the tag <~NAME> stand for TEXT."),
            Opt::with("class-docs", 'u', "URL", "Link element classes to URL."),
            Opt::with("package-docs", '\0', "PACKAGE=URL", "Link element classes of PACKAGE to URL."),
            LINUXMODULE,
            KERNEL,
            BSDMODULE,
            Opt::flag("userlevel", '\0', "Take the user-level driver."),
            Opt::flag("write-template", '\0', "Write the template as it is."),
            Opt::flag("dot", '\0', "Write a graph for Graphviz."),
            Opt::flag("gml", '\0', "Write a graph in GML."),
            Opt::flag("graphml", '\0', "Write a graph in GraphML."),
        ],
        is_named: true,
        run: graphs::pretty,
    },
    Tool {
        name: "undead",
        about: "Takes out of a configuration what does nothing",
        words: "[ROUTERFILE]",
        options: &[
            FILE,
            EXPRESSION,
            OUTPUT,
            CLICKPATH,
            CONFIG.negatable(),
            KERNEL.negatable(),
            USER.negatable(),
            VERBOSE,
        ],
        is_named: true,
        run: run::undead,
    },
    Tool {
        name: "combine",
        about: "Combines configurations into one, linked at their devices",
        words: "[ROUTERFILE | NAME=FILE | LINK]...",
        options: &[
            OUTPUT,
            Opt::with("name", 'n', "NAME", "The next configuration is called NAME."),
            FILE,
            EXPRESSION,
            Opt::with("link", 'l', "LINK", "Link two configurations: NAME1.PLACE1=NAME2.PLACE2."),
            CONFIG,
        ],
        is_named: true,
        run: parts::combine,
    },
    Tool {
        name: "uncombine",
        about: "Takes one configuration out of a combined one",
        words: "[ROUTERFILE [NAME]]",
        options: &[FILE, Opt::with("name", 'n', "NAME", "Take out the configuration called NAME."), OUTPUT],
        is_named: true,
        run: parts::uncombine,
    },
    Tool {
        name: "xform",
        about: "Replaces patterns of elements in a configuration",
        words: "[ROUTERFILE] [PATTERNFILE]...",
        options: &[
            Opt::with("patterns", 'p', "PATTERNFILE", "Read patterns from PATTERNFILE (can be repeated)."),
            FILE,
            EXPRESSION,
            OUTPUT,
            Opt::flag("reverse", 'r', "Apply the patterns in reverse.").negatable(),
        ],
        is_named: false,
        run: run::xform,
    },
    Tool {
        name: "align",
        about: "Adds Align elements where packets would begin at odd addresses",
        words: "[ROUTERFILE]",
        options: &[
            FILE,
            EXPRESSION,
            OUTPUT,
            Opt::flag("assertions", '\0', "Check instead of aligning.").negatable(),
            BSDMODULE,
            LINUXMODULE,
            USERLEVEL,
            Opt::flag("verbose", 'V', "Print what is done."),
        ],
        is_named: false,
        run: run::align,
    },
    Tool {
        name: "devirtualize",
        about: "Passes a configuration on: weir calls elements without indirection where it can",
        words: "[ROUTERFILE]",
        options: &[
            FILE,
            EXPRESSION,
            OUTPUT,
            CLICKPATH,
            CONFIG.negatable(),
            Opt::with("devirtualize", '\0', "CLASS", "Take CLASS too.").negatable(),
            Opt::with("", 'n', "CLASS", "Leave CLASS out."),
            Opt::with("instructions", 'i', "FILE", "Read instructions from FILE."),
            KERNEL.negatable(),
            LINUXMODULE.negatable(),
            USERLEVEL.negatable(),
            REVERSE,
            SOURCE,
        ],
        is_named: true,
        run: run::devirtualize,
    },
    Tool {
        name: "fastclassifier",
        about: "Passes a configuration on: weir compiles all its classifiers",
        words: "[ROUTERFILE]",
        options: &[
            FILE,
            EXPRESSION,
            OUTPUT,
            CLICKPATH,
            CONFIG.negatable(),
            Opt::flag("combine", '\0', "Combine classifiers that follow each other.").negatable(),
            Opt::flag("classes", '\0', "Make classes for classifiers.").negatable(),
            KERNEL,
            USER,
            Opt::flag("quiet", 'q', "Compile quietly.").negatable(),
            REVERSE,
            SOURCE,
            VERBOSE,
        ],
        is_named: false,
        run: run::fastclassifier,
    },
];
