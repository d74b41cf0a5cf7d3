"""The pages of `toolplan explain` for the codes of `ToolplanError`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

# A code and its meaning; indented below, the fix.
_TEXTS: Final = """\
# what was asked for
usage: The command or the call has arguments that cannot be used as they are.
    `toolplan COMMAND --help` lists the options; the message names the argument.
no-plan: There is no plan where one is needed.
    give a plan, or ask in words that can be planned; the message says what was there.
bad-plan: The plan has problems, and nothing was run.
    fix each problem that is listed; `toolplan explain` has a page for its code.
bad-draft: The planner proposed a plan that has problems, and nothing was run.
    ask in other words, or write the plan by hand.
bad-date: The day that is taken for today is no date.
    write it as 2026-03-01.
bad-threshold: A threshold of the answer cannot be used.
    give what the message names.
bad-arguments: The arguments of an MCP tool do not fit its schema.
    `tools/list` has the schema.
bad-request: The studio cannot read a request.
    send what its message names.
unknown-code: No problem and no error has this code.
    `toolplan explain` lists them.
unknown-dialect: No dialect of plans has this name.
    take one that the message lists, or install the package that has it.
pages-repeat: A tool that gives its list in pages gave a page or a cursor twice, so there is no end.
    report it to whoever runs the service; a plan without `pages` reads the first page.
pages-rows: A page of a list is not like the first one, so the pages make no list.
    report it to whoever runs the service; a plan without `pages` reads the first page.
unknown-tool: No tool has this name.
    `toolplan tools` lists the tools.
unknown-step: The plan has no step of this name.
    take the id of a step of the plan.
unknown-path: The run has no value at this path.
    the message says what is there instead; take a `path` of `omitted`.
bad-offset: The value ends before this offset.
    begin at 0, and go on at `next_offset` until it is null.
unknown-run: The journal has no such run.
    `toolplan runs` lists the runs; `--journal` names another journal.
unknown-server: The MCP configuration has no server of this name.
    take a name of the file.
not-found: What was asked for is not there.
    look at the list again.
# approval, and the state of a run
approval-required: The plan changes something, and it was not approved.
    a person reads it and decides: in the studio, in a form of an MCP client, or a terminal,
    where `toolplan resume RUN` shows it and asks; docs/runs.md says how programs approve.
approval-used: The approval was used by another run; it holds for one.
    approve the plan again.
bad-approval: What was asked for an approval returned something else, and nothing was run.
    return `toolplan.approve(plan)` or True to approve the plan, None or False to refuse it.
bad-answer: The decision about calls names calls that do not wait, or is none.
    look at the calls that wait with `toolplan show RUN`, and decide about those.
changed-values: An approver changed the values that it was shown; nothing was approved.
    let it read them only.
digest-changed: The plan or its calls are not those that were shown; nothing was run.
    look at them again, and decide anew.
has-effects: The tool may change something, so the studio does not call it alone.
    put it into a plan, which is shown and approved.
not-allowed-now: The run is in another state than this decision needs.
    look at the run again.
not-waiting: The run does not wait for this approval.
    `toolplan show RUN` shows it.
not-placed: The run was not given to workers.
    `toolplan resume RUN` runs it here.
run-exists: The journal has a run of this name.
    give the new run another name.
run-over: The run has ended, and cannot be changed.
    run its plan again as a new run.
run-stopped: Code of a tool cancelled the run, or stopped its event loop.
    `toolplan resume` continues it; a tool must not end the loop that calls it.
cannot-run: The run cannot be started or continued with what is there.
    the message names what is missing; `toolplan show RUN` shows calls in doubt.
stream-refused: A plan that ran while it was written turned out to have problems.
    fix them and run the plan again; finished steps are in the journal.
try-again: A worker cannot take the run now.
    wait: it tries again by itself.
step-failed: A step of the plan failed.
    the message has its reason.
# tools
bad-tools: The tools cannot be opened.
    the message names the file, module or server, and what is wrong with it.
no-tools: Something is given as tools that is neither a Toolbox nor a list of tools.
    `toolplan.toolbox_of(module)` gives the tools of a module.
no-toolbox: Workers need tools that every machine can open by name.
    open the app with `toolbox=`, the name of a table `[toolboxes.NAME]` of the settings.
tool-object: A tool, or a list of tools, cannot be used.
    the message names the tool and the reason.
tool-error: A call of a tool failed.
    the message is the tool's own; `--debug` shows the traceback of a function.
tool-not-allowed: The tool may not be used here.
    use a tool that is listed, or allow it where the app is opened.
outcome-unknown: It is not known whether a call took effect: its answer was lost.
    look at what it changes, then decide with `toolplan resume RUN`.
result-type: A tool returned something that is not JSON, or not of its output schema.
    correct the tool, or its declared type.
result-too-large: A tool returned more than is kept.
    ask the tool for less.
calls-hang: Too many calls of a tool were given up and still run.
    give the tool a time limit of its own.
bad-effects: A label of effects is none, or names no tool.
    label tools that are there with read, write, destructive or unknown.
bad-schema: A JSON Schema cannot be used.
    the message says why; schemas are never fetched, and have limits of size.
no-example: No sample value fits a schema.
    give the schema an example that fits it.
bad-planner: A planner is not async, or proposes something that is no proposal.
    write `propose` with `async def`; return a Draft, a Clarification or a Refusal.
bad-extension: An installed package offers something that cannot be used.
    repair or remove the package that the message names.
missing-extra: A part of toolplan is not installed.
    install the extra that the message names.
learned-unavailable: What was learned about the results of tools cannot be read or written.
    check the file that the message names, or switch learning off.
not-shown: A tool of an MCP server changed, and the change was not shown before.
    look at the changes, and run the command again.
sign-in-needed: An MCP server asks who you are.
    `toolplan login` signs in.
sign-in-failed: The sign-in to an MCP server came to nothing.
    try again; the message has what the server said.
no-sign-in: A server takes no sign-in of a person.
    see its entry in the MCP configuration.
# settings and files
bad-settings: A setting, a variable or the settings file cannot be used.
    correct what the message names; `toolplan doctor` shows where it stands.
bad-setting: A setting of Clear AI cannot be used.
    correct what the message names.
bad-configuration: The configuration of a LangGraph graph cannot be used.
    correct what the message names.
bad-policy: The policy cannot be used.
    correct the line that the message names; `toolplan policy init` writes an example.
bad-contracts: The contracts of agents cannot be used.
    correct the file that the message names; docs/contracts.md has the format.
bad-plan-test: A file of plan tests cannot be used.
    correct what the message names; `toolplan init` writes an example.
bad-dependencies: The steps of a Clear AI plan do not say well what they wait for.
    correct the dependencies that the message names.
bad-state: The state of an assessment cannot be used.
    correct the place it names.
unknown-intent: No contract answers this class of intent.
    take a class that the message lists.
clarification-needed: The question leaves something open.
    answer the message.
unclear-intent: The question leaves open what is to be assessed.
    answer the message.
bad-yaml: A file is not YAML that is read here.
    correct the line that it names.
bad-reference: A reference in a plan cannot be read.
    write `${step.field[*].name}`.
bad-record: A record of a journal cannot be read.
    use the toolplan that wrote it, or restore the journal from a copy.
unreadable-file: A file cannot be read.
    check its name and who may read it.
unreadable-plan: The file holds no plan that can be read.
    correct it; `toolplan check FILE` shows each problem.
unwritable-file: A file cannot be written.
    check its folder and who may write there.
client-file: The configuration of an MCP client cannot be changed safely, and was not.
    repair what the message names, or close the client; then call the command again.
file-exists: A file of this name is there.
    remove it, or take another folder.
copy-exists: A file of this name is there.
    give the copy another name.
storage: The system refused to read or write something.
    make room, or check the file and who may use it.
# the app and its servers
app-closed: The app was closed.
    open it again; use it inside its `with`.
running-loop: An event loop is running, as in a notebook, so the app cannot start another.
    await the method: `await app.ask(…)`.
not-loopback: The server can be reached from other machines, and has no token.
    set a token, or listen on 127.0.0.1.
weak-token: The token of the server is too short.
    take a longer one.
unknown-address: The server cannot listen on this address.
    name one of this machine.
port-in-use: Another program listens on this port.
    take another with `--port`.
foreign-site: A page of another site called the studio.
    open the studio's own page.
no-user: The proxy before the studio names no user.
    let it set the header that the message names.
planner-failed: The planner ended with an error of its own.
    read the log of the server, or write the plan by hand.
expert-unavailable: An expert's MCP server cannot be used.
    check the server.
# the journal, and memory
journal-taken: Another process works on the run, or has taken it over.
    wait for it, or end it; `toolplan show RUN` shows the run.
journal-failover: The database has moved to another server, which may miss the run's latest calls.
    look at the run: `toolplan show RUN`; then `toolplan resume RUN --after-failover`.
journal-unavailable: The journal cannot be opened or used.
    check the path or address, and that it can be written.
journal-pooled: Between toolplan and Postgres is a pool that shares sessions between clients.
    name the server itself in the address.
journal-locked: Another program keeps the journal locked.
    wait, or end that program.
journal-full: There is no room for the journal.
    make room, then `toolplan resume`.
journal-read-only: The journal cannot be written.
    check who may write the file and its folder, or name another journal.
journal-damaged: The journal is damaged, or is no journal.
    restore it from a copy; the message names what cannot be read.
journal-newer: A newer toolplan wrote the journal.
    use that toolplan.
journal-older: The journal is an older copy: it does not know of calls that were made.
    restore the newer file with its -wal; to resume here may repeat effects.
journal-value: Postgres cannot keep a value of the run.
    the message says why.
journal-address: The address of the journal cannot be read.
    write postgres://USER:PASSWORD@HOST:PORT/DATABASE, or the path of a file.
journal-not-shared: Workers cannot share a journal that is a file.
    use a journal in Postgres.
memory-locked: Another program keeps memory locked.
    wait, or end that program.
memory-full: There is no room for memory.
    make room on the disk.
memory-read-only: Memory cannot be written.
    check who may write the file.
memory-unavailable: Memory cannot be opened or used.
    check the path of the file.
memory-damaged: The file of memory is damaged.
    restore it from a copy, or remove it.
memory-newer: A newer toolplan wrote the file of memory.
    use that toolplan.
# models
no-model: A model is needed, and none is named.
    name one with `--model`, in Python `model=`.
no-planner: Planning without a model needs the package toolplan-offline.
    install it with the command that is named, or name a model.
llm-spec: The name of the model cannot be read, or its provider is not known.
    write ollama:MODEL, openai:MODEL or URL#MODEL.
llm-auth: The model refused the key, or there is none.
    set the key that it names.
llm-rate-limit: The model takes no more calls now.
    wait, or name another model.
llm-timeout: The model took too long.
    try again, or allow more time.
llm-unavailable: The model cannot be reached, or failed.
    check its server.
llm-context: The request is too long for the model.
    ask for less, or offer less tools.
llm-budget: The budget of the run is used up.
    allow more, or ask for less.
llm-request: The model does not accept the request.
    name another model.
llm-refused: The model refused to answer.
    ask in another way.
llm-bad-response: The address does not answer as the API of a model does.
    check the address: it must be the URL of a model API and end in /v1.
llm-empty: The reply of the model is empty.
    ask again, or name another model.
llm-ambiguous: The reply of the model holds several plans.
    ask again.
llm-degenerate: The reply of the model repeats the same text.
    name another model.
llm-too-long: The reply of the model did not end.
    ask again, or for less.
llm-truncated: The reply of the model was cut off.
    allow more tokens, or ask for less.
llm-stream-cut: The reply of the model broke off.
    ask again.
llm-unexpected-tool-call: The model called a tool instead of planning.
    ask again.
llm-no-progress: The model repeated a plan that was refused.
    ask in other words, or name another model.
"""

ERROR_PAGES: Final[Mapping[str, str]] = {
    code: f"{means}\n\nHow to fix: {' '.join(fix.split())}"
    for code, means, fix in re.findall(r"^([a-z-]+): (.+)\n((?:    .+\n)+)", _TEXTS, re.MULTILINE)
}
"""The page of each code of an error, by code; codes of plans have theirs with the rules."""
