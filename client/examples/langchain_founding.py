"""A model that writes programs and runs them: LangChain's tool calling agent, with
sandboxes of sandglassd.

    pip install ./client/python langchain-classic langchain-openai
    export OPENAI_API_KEY=… OPENAI_MODEL=…       # and OPENAI_BASE_URL for others
    python3 client/examples/langchain_founding.py ["Calculate …" …]

Needs a sandglassd ($SANDGLASS_ADDRESS, or the usual socket). A model of one's own,
for example of Ollama or vLLM: OPENAI_BASE_URL=http://127.0.0.1:11434/v1.
"""

import os
import sys

from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI
from sandglass.langchain import run_code_tool

QUESTIONS = [
    "Write python code to calculate Pi by Monte Carlo method then run it.",
    "Write python code to calculate the factorial of a number then run it.",
    "Write python code to calculate the Fibonacci sequence then run it.",
    "Calculate the sum of the first 10000 numbers.",
]


def main() -> None:
    tools = [run_code_tool()]
    # base_url and key are $OPENAI_BASE_URL and $OPENAI_API_KEY.
    model = ChatOpenAI(model=os.environ["OPENAI_MODEL"], temperature=0)
    prompt = ChatPromptTemplate.from_messages(
        [
            ("system", "You are a helpful assistant."),
            ("human", "{input}"),
            ("placeholder", "{agent_scratchpad}"),
        ]
    )
    agent = create_tool_calling_agent(model, tools, prompt)
    executor = AgentExecutor(agent=agent, tools=tools, verbose=True)
    for question in sys.argv[1:] or QUESTIONS:
        print(executor.invoke({"input": question})["output"])


if __name__ == "__main__":
    main()
