"""The same as langchain_founding.py with today's create_agent: a conversation
whose programs keep their variables and files from one question to the next.

    pip install ./client/python langchain langchain-openai
    export OPENAI_API_KEY=… OPENAI_MODEL=…       # and OPENAI_BASE_URL for others
    python3 client/examples/langchain_agent.py ["Calculate …" …]
"""

import asyncio
import os
import sys

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from sandglass.langchain import run_code_tool

QUESTIONS = [
    "Write python code to calculate Pi by Monte Carlo method then run it.",
    "Do it with ten times as many points, and say how much closer it is.",
]


async def main() -> None:
    agent = create_agent(
        ChatOpenAI(model=os.environ["OPENAI_MODEL"]),
        tools=[run_code_tool(stateful=True)],
        checkpointer=InMemorySaver(),
    )
    # Each thread has a sandbox of its own.
    config = {"configurable": {"thread_id": str(os.getpid())}}
    for question in sys.argv[1:] or QUESTIONS:
        asked = {"messages": [{"role": "user", "content": question}]}
        async for chunk in agent.astream(asked, config, stream_mode="updates"):
            for update in chunk.values():
                update["messages"][-1].pretty_print()


if __name__ == "__main__":
    asyncio.run(main())
