"""Chats as the text that a model was trained on: the template that comes with it, by Jinja."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from allo.errors import AlloError

from ..checkpoints.files import read_json

Message = dict[str, str]
"""One turn: ``role`` (system, user or assistant) and ``content``."""


class ChatError(AlloError, ValueError):
    """A template that does not take these messages."""


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A model's chat template, as ``tokenizer_config.json`` and GGUF hold it.

    Attributes:
        text: in Jinja.
        first, last: the texts of the tokens that begin and end a sequence.
    """

    text: str
    first: str = ""
    last: str = ""

    def render(self, messages: Sequence[Message], answer: bool = True) -> str:
        """The messages as one text.

        Args:
            answer: end where the model's answer begins.

        Raises:
            ChatError: there is no message, or the template refuses them or is damaged.
        """
        if not messages:
            raise ChatError("A chat without a message asks nothing.", help="give one of a user.")
        for at, message in enumerate(messages):
            if not {"role", "content"} <= set(message) or not isinstance(message["content"], str):
                raise ChatError(
                    f"Message {at} of the chat has the entries {', '.join(sorted(message)) or 'none'}.",
                    help="each message has a role and its content, both texts.",
                )
        world = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        world.globals["raise_exception"] = _refuse
        world.globals["strftime_now"] = lambda form: date.today().strftime(form)
        about: dict[str, Any] = {"bos_token": self.first, "eos_token": self.last}
        try:
            return world.from_string(self.text).render(
                messages=list(messages), add_generation_prompt=answer, **about
            )
        except TemplateError as error:
            raise ChatError(
                f"The chat template of the model does not take these messages ({error}).",
                help="take turns of user and assistant, a system message only as the first.",
            ) from error


def load_chat(folder: Path) -> ChatTemplate | None:
    """The chat template of a folder in Hugging Face's layout, or None.

    Raises:
        CheckpointFileError: ``tokenizer_config.json`` is damaged.
    """
    about_file, text_file = folder / "tokenizer_config.json", folder / "chat_template.jinja"
    about = read_json(about_file) if about_file.is_file() else {}
    text = about.get("chat_template")
    if text_file.is_file():
        text = text_file.read_text(encoding="utf-8")
    if not isinstance(text, str):
        return None
    return ChatTemplate(text, *(_spelled(about.get(f"{end}_token")) for end in ("bos", "eos")))


def _spelled(token: object) -> str:
    """The text of a token, which may stand in an object."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else ""


def _refuse(reason: str) -> NoReturn:
    """What templates call to refuse messages."""
    raise TemplateError(reason)
