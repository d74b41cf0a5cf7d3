"""General English: `words` compares words, `phrases` classifies phrases, `verbs` lists actions."""
