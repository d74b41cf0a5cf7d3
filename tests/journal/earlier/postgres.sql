INSERT INTO runs VALUES ('r', 1795759568.0586383, 'running', 'f6238a8c9b77b8a77ecafee234019d80ba9ec3e8975bbe49fc1be5994e684fcc', '{"plan":{"toolplan":1,"steps":[{"id":"s0","tool":"write","args":{"x":0}},{"id":"s1","tool":"write","args":{"x":1},"after":["s0"]},{"id":"s2","tool":"write","args":{"x":2},"after":["s1"]},{"id":"s3","tool":"write","args":{"x":3},"after":["s2"]},{"id":"s4","tool":"write","args":{"x":4},"after":["s3"]},{"id":"s5","tool":"write","args":{"x":5},"after":["s4"]}]},"tools":[{"name":"write","description":"Writes.","input_schema":{"type":"object"},"output_schema":null,"annotations":{"effects":"write","idempotent":false}}],"policy":{"allow":null}}', '', 1, '2026-11-27 06:00:00+00:00', 13, 518002528);
INSERT INTO events VALUES ('r', 0, '["run-started","r","f6238a8c9b77b8a77ecafee234019d80ba9ec3e8975bbe49fc1be5994e684fcc",["s0","s1","s2","s3","s4","s5"],1795759568.0573385]
["run-approved","2bb9725bdc984624b9a483a6dbe783a4","f6238a8c9b77b8a77ecafee234019d80ba9ec3e8975bbe49fc1be5994e684fcc",1795759568.0573688,""]', 'ac80a33 bb1d5674');
INSERT INTO events VALUES ('r', 2, '["step-started","s0",null,1795759568.0634892]
["call-intended","s0",null,1,"9e29226cbcf65f449e4de806fc98e09ca01bff8e8b30d0210819f481d8bdd2b6",1795759568.063582]', '1a81e6de 66d85ad');
INSERT INTO events VALUES ('r', 4, '["step-succeeded","s0",{"x":0,"text":"0: so much has to be written down "},1,null,1795759568.065908]
["step-started","s1",null,1795759568.0660117]
["call-intended","s1",null,1,"838e4ed941a936d3b5621f8d7a2b61a64eb9a3b5bbb121c52371a35567ea207c",1795759568.0660696]', 'aae3d7ca 1a3216e1 a4b80b78');
INSERT INTO events VALUES ('r', 7, '["step-succeeded","s1",{"x":1,"text":"1: so much has to be written down "},1,null,1795759568.0675437]
["step-started","s2",null,1795759568.0676382]
["call-intended","s2",null,1,"f0f566d1195a925b5d300ad5c949e2198f82e3aae24a290568c05ea32bf31e09",1795759568.0676866]', 'fb0c36d0 dfd36d7c 144323f5');
INSERT INTO events VALUES ('r', 10, '["step-succeeded","s2",{"x":2,"text":"2: so much has to be written down "},1,null,1795759568.068812]
["step-started","s3",null,1795759568.06889]
["call-intended","s3",null,1,"feaf845109dd2b6274ef58d5da8cddb68b9cf10be4436bbcb85899fc2c1859bb",1795759568.0689352]', '1159af3 9af6a1b9 e72bdd90');
INSERT INTO approvals VALUES ('2bb9725bdc984624b9a483a6dbe783a4', 'r');
