"""One reader and one writer for OpenCode and its forks: what differs is a ``Client``."""

from __future__ import annotations

from functools import partial

from ..spec import AgentSpec, Capabilities
from . import reader, writer
from .client import HOME_VARIABLE, Client, resume_arguments, resumes_recorded_model

_QUESTION = "What did we do so far?"  # 1.2.27 and 1.18.33


def spec(client: Client) -> AgentSpec:
    """The agent whose client that is."""
    return AgentSpec(
        id=client.word,
        names=(client.name,),
        # Reasoning of another model than the current one would be joined to the answer (1.18): it is text here at once.
        capabilities=Capabilities(
            thinking="text",
            whole_results=True,
            failed_images=False,
            native_compaction=client.native,
            compaction_question=_QUESTION if client.native else None,
        ),
        locate=client.locate,
        list=lambda home, remember=reader.looked_at: reader.list_sessions(home, client, remember),
        recognises=reader.recognises,
        read=partial(reader.read, agent=client.word),
        write=partial(writer.write, client=client),
        program=client.word,
        resume_arguments=resume_arguments,
        resumes_recorded_model=resumes_recorded_model,
        home_variable=HOME_VARIABLE,
        named_home=lambda home: home.parent,
        model=client.model,
        window=client.window,
        trigger=client.trigger,
        instructions=client.instructions,
        described=client.described,
        mcp_servers=client.mcp_servers,
        longest_result=lambda _: None,
        overhead=client.word,
    )
