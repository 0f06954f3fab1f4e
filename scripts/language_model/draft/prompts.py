"""What a draft head is measured on, twelve prompts of four kinds, and of what prompts of code are made."""

from __future__ import annotations

MEASURED = {
    "answers": (
        "What is the capital of France, and what is it known for?",
        "Why is the sky blue?",
        "How do vaccines protect people from diseases?",
    ),
    "code": (
        "Write a Python function that returns the n-th Fibonacci number.",
        "Write a Python class for a stack with push, pop and peek.",
        "Write a Python function that counts how often each word occurs in a text.",
    ),
    "corrections": (
        "Correct the spelling mistakes in this text.\n\nThe quick brwon fox jumps over the lazy dog. It was "
        "a sunny aftrenoon, and the childern were playing in the gardn. Their mother watched them from the "
        "kitchn window, and thougt about the holiday that they woud spend at the sea.",
        "Correct the spelling mistakes in this text.\n\nOur compny was founded in 1987 by two enginers who "
        "beleived that good tools make good work. Today we have more than four hunderd employees in six "
        "contries, and our products are usd by hospitals, schools and farmers all over the wrold.",
        "Correct the spelling mistakes in this text.\n\nPlease find atached the report on the last quarter. "
        "Sales have grwon by eight percent, mosty because of the new shop in the city centre. We expcet the "
        "same growth in the next quater, although the prices of energy remain a dificulty.",
    ),
    "summaries": (
        "Summarize the following text.\n\nThe Amazon rainforest covers about five and a half million square "
        "kilometres of South America, most of them in Brazil. It is home to about ten percent of all known "
        "species. Every year large areas are cleared for cattle and soy. Scientists warn that the forest may "
        "reach a point beyond which it dries out and becomes grassland, which would release huge amounts of "
        "carbon into the atmosphere.",
        "Summarize the following text.\n\nField-programmable gate arrays are chips whose logic is configured "
        "after they were made. A design is described in a hardware description language, synthesised into "
        "lookup tables and registers, placed on the chip and routed. They are slower than chips made for one "
        "purpose, but they can be changed, and a small number of them is much cheaper.",
        "Summarize the following text.\n\nIn 1928 Alexander Fleming came back from a holiday and found that "
        "a mould had grown on one of his plates of bacteria. Around the mould the bacteria had died. He "
        "called the substance penicillin. It took more than ten years until others could produce it in "
        "quantities "
        "that were useful, and in the Second World War it saved many thousands of lives.",
    ),
}
"""By kind."""

CODE = (
    "Write a Python function that", "Write Python code that", "Implement a function in Python that",
    "Show me a Python program that", "How do I write a Python function that", "Write a small script that",
)  # fmt: skip
TOPICS = (
    "reverses a list", "checks whether a number is prime", "sorts a list of tuples by the second element",
    "reads a CSV file and prints its rows", "computes the factorial of a number", "merges two dictionaries",
    "finds the largest element of a matrix", "removes duplicates from a list", "checks for a palindrome",
    "computes the greatest common divisor", "converts Celsius to Fahrenheit", "counts the vowels of a string",
    "generates a random password", "downloads a web page", "implements a queue", "implements binary search",
    "implements bubble sort", "prints a triangle of stars", "flattens a nested list", "parses a date",
    "computes the average of a list", "transposes a matrix", "splits a text into sentences",
    "finds all files in a folder", "validates an email address", "implements a linked list",
    "rolls two dice", "computes compound interest", "converts a number to binary", "plays tic-tac-toe",
    "implements a bank account class", "finds anagrams", "rotates a list by k places", "zips two lists",
    "returns the longest word of a sentence", "computes the sum of digits", "logs errors to a file",
    "implements a cache", "finds the shortest path in a graph", "caches results of a slow function",
)  # fmt: skip
