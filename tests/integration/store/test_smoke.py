def test_corpus(corpus, desk, reader):
    import time
    desk.model()
    desk.memory(vector=[1.0]*8)
    with reader.transaction(namespaces=("global",)) as s:
        print(s.rows("select * from kos.live_memories"))
        print(s.rows("select * from kos.corpus_size()"))
    print(len(corpus.ids))
