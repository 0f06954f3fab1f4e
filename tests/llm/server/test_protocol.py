"""The server over HTTP, asked by OpenAI's own client: answers, pieces, errors, and clients that go away."""

from __future__ import annotations

import http.client
import json
import threading
import time
from urllib.parse import urlsplit

import openai
import pytest

from allo.designs.llm.language.chat import ChatTemplate
from allo.designs.llm.server.protocol.serve import AddressError, listen, running
from allo.designs.llm.server.request import Request
from allo.designs.llm.server.scheduler import Scheduler
from allo.designs.llm.server.served import Served

from .engines import Remembering, answers, speaker_tokenizer

TOKENIZER = speaker_tokenizer()
CHAT = ChatTemplate(
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
QUESTION = [{"role": "user", "content": "Who is Emma?"}]
ASKED = "user: Who is Emma?\nassistant: "


@pytest.fixture(scope="module")
def server():
    scheduler = Scheduler(Remembering(len(TOKENIZER), context=96), TOKENIZER)
    with running(Served("small", TOKENIZER, 96, (), CHAT), scheduler) as base:
        yield base, scheduler


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=server[0], api_key="none", max_retries=0) as found:
        yield found


def text_of(server, prompt: str, count: int, **options: float) -> str:
    tokens = tuple(TOKENIZER.encode(prompt))
    return answers(server[1], [Request(tokens, count, **options)])[0].text


def test_a_text_is_continued(server, client):
    said = client.completions.create(
        model="small", prompt="It is a truth", max_tokens=7, temperature=0, logprobs=2
    )
    choice = said.choices[0]
    assert choice.text == text_of(server, "It is a truth", 7, temperature=0.0)
    assert choice.finish_reason == "length" and said.object == "text_completion"
    assert said.usage.completion_tokens == 7
    assert said.usage.prompt_tokens == len(TOKENIZER.encode("It is a truth"))
    assert said.usage.total_tokens == said.usage.prompt_tokens + 7
    assert said.usage.allo["cycles"] == 10 * (said.usage.prompt_tokens + 6)
    scores = choice.logprobs
    assert "".join(scores.tokens) == choice.text and len(scores.token_logprobs) == 7
    assert scores.text_offset == [
        choice.text.find(t, o) for t, o in zip(scores.tokens, scores.text_offset, strict=True)
    ]
    assert all(len(best) == 2 for best in scores.top_logprobs)
    assert all(
        max(b.values()) == s
        for b, s in zip(scores.top_logprobs, scores.token_logprobs, strict=True)
    )


def test_a_message_is_answered_whole_and_in_pieces(server, client):
    options = {"model": "small", "messages": QUESTION, "max_tokens": 12, "seed": 5}
    options |= {"logprobs": True, "top_logprobs": 1}
    whole = client.chat.completions.create(**options)
    expected = text_of(server, ASKED, 12, temperature=1.0, seed=5)
    assert whole.choices[0].message.content == expected
    assert whole.choices[0].message.role == "assistant"
    assert len(whole.choices[0].logprobs.content) == 12
    pieces = list(
        client.chat.completions.create(
            **options, stream=True, stream_options={"include_usage": True}
        )
    )
    assert "".join(p.choices[0].delta.content or "" for p in pieces[:-1]) == expected
    assert pieces[0].choices[0].delta.role == "assistant"
    assert pieces[-2].choices[0].finish_reason == "length"
    assert pieces[-1].choices == [] and pieces[-1].usage.completion_tokens == 12
    scored = [
        s for p in pieces[:-1] if p.choices[0].logprobs for s in p.choices[0].logprobs.content
    ]
    assert [s.logprob for s in scored] == [s.logprob for s in whole.choices[0].logprobs.content]
    assert len({p.id for p in pieces}) == 1 and len(pieces) > 5


def test_a_message_in_parts_and_stops(server, client):
    parts = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Who is "}, {"type": "text", "text": "Emma?"}],
        }
    ]
    whole = text_of(server, ASKED, 40, temperature=0.0)
    said = client.chat.completions.create(
        model="small", messages=parts, temperature=0, max_completion_tokens=40, stop=whole[20:24]
    )
    assert said.choices[0].message.content == whole[: whole.find(whole[20:24])]
    assert said.choices[0].finish_reason == "stop"


def test_several_prompts_and_choices(server, client):
    said = client.completions.create(
        model="small", prompt=["One", "Two"], n=2, seed=3, max_tokens=4, top_p=0.5
    )
    expected = [
        text_of(server, prompt, 4, seed=3 + number % 2, share=0.5)
        for number, prompt in enumerate(["One", "One", "Two", "Two"])
    ]
    assert [choice.text for choice in said.choices] == expected
    tokens = client.completions.create(
        model="small", prompt=TOKENIZER.encode("Two"), seed=9, max_tokens=4, extra_body={"top_k": 1}
    )
    assert tokens.choices[0].text == text_of(server, "Two", 4, temperature=0.0)


def test_the_same_seed_is_the_same_answer_among_many(server, client):
    alone = (
        client.completions.create(model="small", prompt="So", seed=1, max_tokens=20).choices[0].text
    )
    found: list[str] = []

    def ask(seed: int) -> None:
        said = client.completions.create(model="small", prompt="So", seed=seed, max_tokens=20)
        if seed == 1:
            found.append(said.choices[0].text)

    threads = [threading.Thread(target=ask, args=(n % 7,)) for n in range(28)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


def test_models_and_health(server, client):
    assert [model.id for model in client.models.list()] == ["small"]
    assert client.models.retrieve("small").owned_by == "allo"
    with pytest.raises(openai.NotFoundError, match="There is no model 'large' here"):
        client.models.retrieve("large")
    assert json.loads(raw(server, "GET", "/health")[1]) == {
        "model": "small",
        "active": 0,
        "waiting": 0,
    }


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"model": "gpt-5"}, "There is no model 'gpt-5' here"),
        ({"max_tokens": 0}, "'max_tokens' of the request is 0.*an integer from 1 to 96"),
        ({"max_tokens": 95}, "with these and 95 of the answer a sequence does not fit the context of 96"),
        ({"prompt": "word " * 100}, "tokens; with these.*does not fit the context of 96"),
        ({"prompt": ""}, "The prompt has no token"),
        ({"prompt": [0, 1536]}, "'prompt' of the request is 1536.*tokens from 0 to 1535"),
        ({"temperature": 3}, "'temperature' of the request is 3.*a number from 0 to 2"),
        ({"stop": ["a"] * 5}, "at most 4 texts"),
        ({"stop": ""}, "none of them empty"),
        ({"echo": True}, "This server has no 'echo'"),
        ({"logit_bias": {"5": 1}}, "This server has no 'logit_bias'"),
        ({"extra_body": {"tempature": 1}}, "has an entry 'tempature', which this server does not know"),
        ({"stream": 1}, "'stream' of the request is 1.*true or false"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_named(client, changes: dict, text: str):
    asked = {"model": "small", "prompt": "It is a truth", **changes}
    with pytest.raises(
        (openai.BadRequestError, openai.NotFoundError), match=f"(?s){text}"
    ) as found:
        client.completions.create(**asked)
    assert found.value.type == "invalid_request_error"


def test_a_wrong_message_is_named(client):
    for messages, text in (
        ([], "A chat without a message"),
        ([{"role": "user"}], "Message 0 of the chat has the entries"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}], "is no text"),
    ):
        with pytest.raises(openai.BadRequestError, match=text):
            client.chat.completions.create(model="small", messages=messages)
    with pytest.raises(openai.BadRequestError, match="This server has no 'tools'"):
        tool = {"type": "function", "function": {"name": "f"}}
        client.chat.completions.create(model="small", messages=QUESTION, tools=[tool])


def raw(server, method: str, path: str, body: bytes | None = None) -> tuple[int, str]:
    """A request without a client."""
    link = http.client.HTTPConnection(urlsplit(server[0]).netloc, timeout=30)
    link.request(method, path, body)
    answer = link.getresponse()
    found = answer.status, answer.read().decode()
    link.close()
    return found


def test_what_is_no_request(server):
    status, said = raw(server, "POST", "/v1/completions", b"{")
    assert status == 400 and "is no JSON" in said
    status, said = raw(server, "POST", "/v1/completions", b"[]")
    assert status == 400 and "is no object" in said
    status, said = raw(server, "POST", "/v1/completions", b" " * (5 << 20))
    assert status == 400 and "more than 4,194,304 bytes" in said
    assert raw(server, "GET", "/v1/completions")[0] == 405
    assert raw(server, "GET", "/v2")[0] == 404


@pytest.mark.parametrize("stream", [True, False])
def test_the_place_of_a_client_that_goes_away_is_free(stream: bool):
    engine = Remembering(len(TOKENIZER), context=3000, pause_s=0.001)
    scheduler = Scheduler(engine, TOKENIZER, slots=1)
    with running(Served("slow", TOKENIZER, 3000), scheduler) as base:
        link = http.client.HTTPConnection(urlsplit(base).netloc, timeout=30)
        body = {"model": "slow", "prompt": "a", "max_tokens": 2900, "stream": stream}
        link.request("POST", "/v1/completions", json.dumps(body))
        if stream:
            link.getresponse().read(10)
        while scheduler.load[0] == 0:
            time.sleep(0.01)
        link.close()
        [found] = answers(scheduler, [Request((3,), 2, 0.0)])
        assert found.done.said == 2
    assert engine.steps < 2500, "the answer did not run to its end"


def test_an_engine_that_fails_is_told(server):
    engine = Remembering(len(TOKENIZER))
    engine.broken = True
    scheduler = Scheduler(engine, TOKENIZER)
    with running(Served("bad", TOKENIZER, 64), scheduler) as base:
        asked = {"model": "bad", "prompt": "a"}
        with openai.OpenAI(base_url=base, api_key="none", max_retries=0) as client:
            with pytest.raises(openai.InternalServerError, match="the board is gone"):
                client.completions.create(**asked)
            with pytest.raises(openai.APIError, match="the board is gone"):
                list(client.completions.create(**asked, stream=True))
            with pytest.raises(openai.BadRequestError, match="'bad' has no chat template"):
                client.chat.completions.create(model="bad", messages=QUESTION)


def test_a_port_that_is_taken_is_said():
    with listen(0) as first:
        port = first.getsockname()[1]
        with pytest.raises(AddressError, match=f"cannot listen at port {port} of 127.0.0.1"):
            listen(port)
    with pytest.raises(AddressError, match="cannot listen at port 70000"):
        listen(70000)
