BEGIN TRANSACTION;
CREATE TABLE approvals (
        approval TEXT PRIMARY KEY,
        run TEXT NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "approvals" VALUES('17839c98944a4e0cbe986fa203269e80','r');
CREATE TABLE durations (
        tool TEXT NOT NULL,
        at REAL NOT NULL,
        seconds REAL NOT NULL
    );
CREATE TABLE events (
        run TEXT NOT NULL,
        seq INTEGER NOT NULL,
        event TEXT NOT NULL, checksums TEXT,
        PRIMARY KEY (run, seq)
    ) WITHOUT ROWID;
INSERT INTO "events" VALUES('r',0,'["run-started","r","f6238a8c9b77b8a77ecafee234019d80ba9ec3e8975bbe49fc1be5994e684fcc",["s0","s1","s2","s3","s4","s5"],1795759540.143695]
["run-approved","17839c98944a4e0cbe986fa203269e80","f6238a8c9b77b8a77ecafee234019d80ba9ec3e8975bbe49fc1be5994e684fcc",1795759540.1437197,""]','2cc68ac2 6d1688d9');
INSERT INTO "events" VALUES('r',2,'["step-started","s0",null,1795759540.1486835]
["call-intended","s0",null,1,"9e29226cbcf65f449e4de806fc98e09ca01bff8e8b30d0210819f481d8bdd2b6",1795759540.1487706]','58debeee b2de4d61');
INSERT INTO "events" VALUES('r',4,'["step-succeeded","s0",{"x":0,"text":"0: so much has to be written down "},1,null,1795759540.150141]
["step-started","s1",null,1795759540.1502352]
["call-intended","s1",null,1,"838e4ed941a936d3b5621f8d7a2b61a64eb9a3b5bbb121c52371a35567ea207c",1795759540.150288]','eeb268ff d025d1b8 15c7f792');
INSERT INTO "events" VALUES('r',7,'["step-succeeded","s1",{"x":1,"text":"1: so much has to be written down "},1,null,1795759540.1547287]
["step-started","s2",null,1795759540.15485]
["call-intended","s2",null,1,"f0f566d1195a925b5d300ad5c949e2198f82e3aae24a290568c05ea32bf31e09",1795759540.1549222]','989f4415 83609756 aaa6a800');
INSERT INTO "events" VALUES('r',10,'["step-succeeded","s2",{"x":2,"text":"2: so much has to be written down "},1,null,1795759540.1586957]
["step-started","s3",null,1795759540.1588209]
["call-intended","s3",null,1,"feaf845109dd2b6274ef58d5da8cddb68b9cf10be4436bbcb85899fc2c1859bb",1795759540.1588907]','b54d94e8 efa69231 78b3c1dc');
CREATE TABLE runs (
        run TEXT PRIMARY KEY,
        created_at REAL NOT NULL,
        status TEXT NOT NULL,
        digest TEXT NOT NULL,
        record TEXT NOT NULL,
        owner TEXT NOT NULL,
        token INTEGER NOT NULL,
        lease_until REAL NOT NULL,
        next_seq INTEGER NOT NULL
    , boot TEXT NOT NULL DEFAULT '', beat REAL NOT NULL DEFAULT 0, checksum INTEGER) WITHOUT ROWID;
INSERT INTO "runs" VALUES('r',1795759540.14669,'running','f6238a8c9b77b8a77ecafee234019d80ba9ec3e8975bbe49fc1be5994e684fcc','{"plan":{"toolplan":1,"steps":[{"id":"s0","tool":"write","args":{"x":0}},{"id":"s1","tool":"write","args":{"x":1},"after":["s0"]},{"id":"s2","tool":"write","args":{"x":2},"after":["s1"]},{"id":"s3","tool":"write","args":{"x":3},"after":["s2"]},{"id":"s4","tool":"write","args":{"x":4},"after":["s3"]},{"id":"s5","tool":"write","args":{"x":5},"after":["s4"]}]},"tools":[{"name":"write","description":"Writes.","input_schema":{"type":"object"},"output_schema":null,"annotations":{"effects":"write","idempotent":false}}],"policy":{"allow":null}}','',1,0.0,13,'',6269.79300395,1717573517);
CREATE TABLE writes (count INTEGER NOT NULL);
INSERT INTO "writes" VALUES(5);
CREATE INDEX runs_by_time ON runs (created_at);
CREATE INDEX durations_by_tool ON durations (tool, at);
COMMIT;
PRAGMA application_id = 1953524332;
PRAGMA user_version = 3;
