"""Kinds of program that are aimed at one thing each, where programs of any kind seldom look."""
