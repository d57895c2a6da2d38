"""``headstart chat`` where timing cannot be left to chance."""

from __future__ import annotations

from pathlib import Path

import pytest

from headstart.cli import chat
from support.commands import here, tiny_model


def test_ctrl_c_between_two_messages_keeps_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command has printed and the next message is not asked for yet: Ctrl-C there does not end the program."""
    stats, interrupts = chat._Conversation._stats, [True]

    def interrupted(self: chat._Conversation) -> str:
        if interrupts:
            interrupts.pop()
            raise KeyboardInterrupt
        return stats(self)

    monkeypatch.setattr(chat._Conversation, "_stats", interrupted)
    done = here(capsys, "chat", "-m", tiny_model(tmp_path), stdin=b"/stats\n/stats\n")
    assert done.code == 0
    assert "/reset begins anew" in done.err
    assert "nothing was answered yet" in done.err
