"""What a tool does, told by its name: one vocabulary (``ToolKind``) over the agents' own tool names."""

from __future__ import annotations

import re

from .model import ToolKind

_NAMES: dict[ToolKind, str] = {
    "read": """
        read read_file read_files read_many_files read_notebook notebook_read view view_file view_image open_file
        cat get_file_contents read_resource read_mcp_resource read_media_file list_code_definition_names
    """,
    "edit": """
        edit edit_file edit_files multi_edit multi_edit_file write write_file write_to_file create create_file
        new_file save_file update_file append_file insert insert_content insert_edit_into_file apply_patch
        apply_diff patch replace replace_in_file search_replace search_and_replace str_replace
        str_replace_editor str_replace_based_edit_tool file_editor notebook_edit notebook_edit_cell edit_notebook
        smart_edit
    """,
    "delete": "delete delete_file delete_files remove remove_file rm",
    "move": "move move_file rename rename_file mv",
    "search": """
        grep grep_search grep_files rg ripgrep glob glob_search glob_file_search file_search find find_files search
        search_files search_file_content search_code search_content code_search codebase_search semantic_search ls
        list_dir list_directory list_files tool_search
    """,
    "execute": """
        bash bash_output kill_bash kill_shell shell local_shell shell_command exec exec_command execute
        execute_command execute_bash write_stdin terminal run_in_terminal get_terminal_output run_terminal_cmd
        run_terminal_command run_command run_commands run_shell_command container_exec run_python python powershell
        code_execution process
    """,
    "think": """
        think sequentialthinking update_plan plan todo todo_write todo_read todo_list write_todos update_todo_list
        manage_todo_list set_todo_list enter_plan_mode exit_plan_mode task_create task_update task_list task_get
    """,
    "fetch": """
        web_fetch fetch fetch_url fetch_webpage fetch_content web_search google_web_search search_web web_search_call
        browse open_url read_url
    """,
}

_KINDS: dict[str, ToolKind] = {
    name.replace("_", ""): kind for kind, names in _NAMES.items() for name in names.split()
}  # fmt: skip


def tool_kind(name: str) -> ToolKind:
    """The kind of a tool, ``other`` where the name tells nothing.

    Case, underscores and dashes do not matter, nor does what an MCP server or a namespace puts in
    front: ``Read``, ``read_file`` and ``mcp__files__read-file`` are all ``read``.
    """
    return _KINDS.get(_tail(name)) or "other"


def _tail(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", re.split(r"__|[./:]", name.strip().lower())[-1])
